/// Elements that wait, each in the line of its owner; the owners are served in turn.
///
/// Within a line the order is that of arrival. Elements without an owner are served before all others: they are the
/// service's own work, which is bounded elsewhere.
package struct FairQueue<Element> {
    private var unowned = Line()
    private var lines: [String: Line] = [:]

    /// The owners of `lines`, the next to be served first.
    private var turns: [String] = []

    package private(set) var count = 0

    package init() {}

    /// The owners that have elements, the next to be served first.
    package var owners: [String] { turns }

    /// The number of the owner's elements.
    package func count(of owner: String?) -> Int {
        guard let owner else { return unowned.count }
        return lines[owner]?.count ?? 0
    }

    /// Adds an element at the end of its owner's line; an owner without a line is served after all others.
    package mutating func append(_ element: Element, of owner: String?) {
        count += 1
        guard let owner else { return unowned.append(element) }
        if lines[owner] == nil { turns.append(owner) }
        lines[owner, default: Line()].append(element)
    }

    /// Removes and returns the first element of the first owner that may be served, which then is served last.
    package mutating func popFirst(where mayBeServed: (String) -> Bool = { _ in true }) -> Element? {
        if let element = unowned.popFirst() {
            count -= 1
            return element
        }
        guard let index = turns.firstIndex(where: mayBeServed) else { return nil }
        let owner = turns.remove(at: index)
        guard let element = lines[owner]?.popFirst() else { return nil }
        count -= 1
        if lines[owner]?.count == 0 { lines[owner] = nil } else { turns.append(owner) }
        return element
    }

    /// Removes and returns the owner's last element.
    package mutating func popLast(of owner: String) -> Element? {
        guard let element = lines[owner]?.popLast() else { return nil }
        count -= 1
        if lines[owner]?.count == 0 {
            lines[owner] = nil
            turns.removeAll { $0 == owner }
        }
        return element
    }

    /// Removes and returns the elements that match, those of each owner in order.
    package mutating func remove(where matches: (String?, inout Element) -> Bool) -> [Element] {
        var removed = unowned.remove { matches(nil, &$0) }
        for owner in turns {
            removed += lines[owner]?.remove { matches(owner, &$0) } ?? []
            if lines[owner]?.count == 0 { lines[owner] = nil }
        }
        if !removed.isEmpty { turns.removeAll { lines[$0] == nil } }
        count -= removed.count
        return removed
    }

    /// Calls `body` with each element and its owner.
    package func forEach(_ body: (String?, Element) -> Void) {
        unowned.forEach { body(nil, $0) }
        for owner in turns { lines[owner]?.forEach { body(owner, $0) } }
    }

    /// The elements of one owner. Removal from the front leaves an empty place, so that it takes constant time.
    private struct Line {
        private var elements: [Element?] = []
        private var front = 0

        var count: Int { elements.count - front }

        mutating func append(_ element: Element) { elements.append(element) }

        mutating func popFirst() -> Element? {
            guard front < elements.count else { return nil }
            let element = elements[front]
            elements[front] = nil
            front += 1
            if front == elements.count || front >= 1_024 {
                elements.removeFirst(front)
                front = 0
            }
            return element
        }

        mutating func popLast() -> Element? { front < elements.count ? elements.removeLast() : nil }

        mutating func remove(where matches: (inout Element) -> Bool) -> [Element] {
            var removed: [Element] = []
            var kept: [Element?] = []
            for case .some(var element) in elements[front...] {
                if matches(&element) { removed.append(element) } else { kept.append(element) }
            }
            elements = kept
            front = 0
            return removed
        }

        func forEach(_ body: (Element) -> Void) {
            for case .some(let element) in elements[front...] { body(element) }
        }
    }
}
