/// Elements that wait, each in the line of its owner. The groups of owners are served in turn, and within a group its
/// owners.
///
/// Within a line the order is that of arrival. Elements without an owner are served before all others: they are the
/// service's own work, which is bounded elsewhere.
package struct FairQueue<Element> {
    private var unowned = Line()
    private var lines: [RequestOwner: Line] = [:]

    /// The groups of the owners of `lines`, the next to be served first.
    private var turns: [RequestOwner.Group] = []

    /// The owners of `lines` by group, the next to be served first.
    private var turnsByGroup: [RequestOwner.Group: [RequestOwner]] = [:]

    package private(set) var count = 0

    package init() {}

    /// The owners that have elements.
    package var owners: some Collection<RequestOwner> { lines.keys }

    /// The number of the owner's elements.
    package func count(of owner: RequestOwner?) -> Int {
        guard let owner else { return unowned.count }
        // A queue is mostly empty, and hashing an owner costs more than the rest.
        return lines.isEmpty ? 0 : lines[owner]?.count ?? 0
    }

    /// Adds an element at the end of its owner's line. An owner without a line is served after all others of its group,
    /// and a new group after all others.
    package mutating func append(_ element: Element, of owner: RequestOwner?) {
        count += 1
        guard let owner else { return unowned.append(element) }
        if lines[owner] == nil {
            if turnsByGroup[owner.group] == nil { turns.append(owner.group) }
            turnsByGroup[owner.group, default: []].append(owner)
        }
        lines[owner, default: Line()].append(element)
    }

    /// Removes and returns the first element of the first owner that may be served, in the first group that may. Then
    /// this owner and this group are served last.
    package mutating func popFirst(
        from mayServeGroup: (RequestOwner.Group) -> Bool = { _ in true },
        where mayBeServed: (RequestOwner) -> Bool = { _ in true }
    ) -> Element? {
        if let element = unowned.popFirst() {
            count -= 1
            return element
        }
        for (turn, group) in turns.enumerated() where mayServeGroup(group) {
            guard let index = turnsByGroup[group]?.firstIndex(where: mayBeServed),
                let owner = turnsByGroup[group]?[index], let element = lines[owner]?.popFirst()
            else { continue }
            count -= 1
            turns.append(turns.remove(at: turn))
            turnsByGroup[group]?.remove(at: index)
            if lines[owner]?.count == 0 { lines[owner] = nil } else { turnsByGroup[group]?.append(owner) }
            removeGroupIfEmpty(group)
            return element
        }
        return nil
    }

    /// Removes and returns the owner's last element.
    package mutating func popLast(of owner: RequestOwner) -> Element? {
        guard let element = lines[owner]?.popLast() else { return nil }
        count -= 1
        if lines[owner]?.count == 0 {
            lines[owner] = nil
            turnsByGroup[owner.group]?.removeAll { $0 == owner }
            removeGroupIfEmpty(owner.group)
        }
        return element
    }

    /// Removes and returns the elements that match, those of each owner in order.
    package mutating func remove(where matches: (RequestOwner?, inout Element) -> Bool) -> [Element] {
        var removed = unowned.remove { matches(nil, &$0) }
        for owner in lines.keys {
            removed += lines[owner]?.remove { matches(owner, &$0) } ?? []
            if lines[owner]?.count == 0 { lines[owner] = nil }
        }
        if !removed.isEmpty {
            for group in turns { turnsByGroup[group]?.removeAll { lines[$0] == nil } }
            turns.removeAll { turnsByGroup[$0]?.isEmpty == true }
            turnsByGroup = turnsByGroup.filter { !$0.value.isEmpty }
        }
        count -= removed.count
        return removed
    }

    /// Calls `body` with each element and its owner.
    package func forEach(_ body: (RequestOwner?, Element) -> Void) {
        unowned.forEach { body(nil, $0) }
        for (owner, line) in lines { line.forEach { body(owner, $0) } }
    }

    private mutating func removeGroupIfEmpty(_ group: RequestOwner.Group) {
        guard turnsByGroup[group]?.isEmpty == true else { return }
        turnsByGroup[group] = nil
        turns.removeAll { $0 == group }
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
