extension DevicePush {
    /// Shortens the texts of a push until its encoded form is small enough: first the body, then the title.
    ///
    /// Providers count encoded bytes, where a quotation mark takes two and a control character six, and texts may occur
    /// twice. So the encoded form is measured.
    ///
    /// - Parameters:
    ///   - limit: the provider's maximum size in bytes.
    ///   - size: returns the size of the encoded form.
    func fitting(_ limit: Int, _ size: (DevicePush) throws -> Int) rethrows -> DevicePush {
        guard let text, try size(self) > limit else { return self }
        func with(_ title: String, _ body: String?) -> DevicePush {
            DevicePush(order: order, text: Text(title: title, body: body))
        }
        let shortestBody = text.body?.shortened(to: Self.shortest)
        if let body = text.body, try size(with(text.title, shortestBody)) <= limit {
            let bytes = try Self.longest(body.utf8.count) {
                try size(with(text.title, body.shortened(to: $0))) <= limit
            }
            return with(text.title, body.shortened(to: bytes))
        }
        let bytes = try Self.longest(text.title.utf8.count) {
            try size(with(text.title.shortened(to: $0), shortestBody)) <= limit
        }
        return with(text.title.shortened(to: bytes), shortestBody)
    }

    /// The bytes of an ellipsis.
    private static let shortest = 3

    /// Returns the largest number up to `most` that fits, by bisection, or ``shortest`` if none does.
    private static func longest(_ most: Int, _ fits: (Int) throws -> Bool) rethrows -> Int {
        var (low, high) = (shortest, max(shortest, most))
        while low < high {
            let middle = (low + high + 1) / 2
            if try fits(middle) { low = middle } else { high = middle - 1 }
        }
        return low
    }
}

extension String {
    /// Returns the text if it has at most `limit` bytes of UTF-8, otherwise its beginning with an ellipsis.
    ///
    /// It is cut between characters, or between the Unicode scalars of a first character that does not fit.
    func shortened(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let room = max(0, limit - "…".utf8.count)
        func beginning(_ indices: some Sequence<String.Index>) -> Substring {
            var end = startIndex
            for index in indices {
                guard utf8.distance(from: startIndex, to: index) <= room else { break }
                end = index
            }
            return self[..<end]
        }
        let characters = beginning(self.indices)
        return (characters.isEmpty ? beginning(unicodeScalars.indices) : characters) + "…"
    }
}
