/// What another framing than lines tells its connection, as a user event of the pipeline.
package enum FramingEvent {
    /// A message is longer than a line may be, and its end is not waited for.
    case messageTooLong
}
