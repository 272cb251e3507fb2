/// An event that another framing fires in the pipeline of its connection.
package enum FramingEvent {
    /// A message exceeds the maximum line length. Its remaining bytes are not awaited.
    case messageTooLong
}
