import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The message that another one answers, in short.
struct QuoteView: View {
    let sender: String
    let text: String

    var body: some View {
        VStack(alignment: .leading) {
            Text(sender).font(.caption.bold())
            Text(text).font(.caption).lineLimit(2)
        }
        .padding(6)
        .background(.bar, in: RoundedRectangle(cornerRadius: 8))
        .accessibilityElement(children: .combine)
    }

    init(_ quote: Message.Quote) {
        sender = quote.sender.shownName
        text =
            quote.isBlocked
            ? "Message from a blocked user" : quote.content.map { $0.isEmpty ? "Picture" : $0 } ?? "Message deleted"
    }

    init(_ message: Message) {
        sender = message.sender.shownName
        text = message.content.map { $0.isEmpty ? "Picture" : $0 } ?? "Message deleted"
    }
}

struct QuoteViewPreviews: PreviewProvider {
    static var previews: some View { QuoteView(.sample(1, by: .carol, "Where shall we go?")) }
}
