/// Questions to the user before an account changes, one per line. A command line would show a password.
struct Question: Sendable, Equatable {
    enum Purpose: Sendable, Equatable {
        /// Upgrade the guest to an account with this address.
        case upgrade(email: String)
        /// Merge the guest into the account with this address.
        case signIn(email: String)
        case changePassword
        case delete(isGuest: Bool)
    }

    /// The result of a typed line.
    enum Outcome: Sendable, Equatable {
        /// Another line is needed.
        case more
        case done(AccountAction)
        /// The action is cancelled, with the reason.
        case given(up: String)
    }

    private enum Step: Sendable, Equatable {
        case current
        case new
        case again
        case sure
    }

    private let purpose: Purpose
    private var answers: [String] = []

    init(_ purpose: Purpose) { self.purpose = purpose }

    private var steps: [Step] {
        switch purpose {
        case .upgrade: [.new, .again]
        case .signIn: [.current]
        case .changePassword: [.current, .new, .again]
        case .delete(isGuest: false): [.current]
        case .delete(isGuest: true): [.sure]
        }
    }

    private var step: Step { steps[min(answers.count, steps.count - 1)] }

    /// True if the next line must not be echoed.
    var isSecret: Bool { step != .sure }

    /// The prompt of the next line.
    var label: String {
        switch (step, purpose) {
        case (.new, .upgrade(let email)): "A password for \(email)"
        case (.new, _): "The new password"
        case (.again, _): "The same password again"
        case (.current, .signIn(let email)): "The password of \(email)"
        case (.current, .delete): "Your password, to delete your account for good"
        case (.current, _): "Your password"
        case (.sure, _): "Type “delete” to delete this guest for good"
        }
    }

    /// Handles the next line; an empty one cancels.
    mutating func take(_ line: String) -> Outcome {
        guard !line.isEmpty else { return .given(up: "Nothing was changed.") }
        switch step {
        case .again where line != answers.last:
            return .given(up: "The two passwords are not the same. Nothing was changed.")
        case .sure where line.trimmed.lowercased() != "delete":
            return .given(up: "Nothing was deleted.")
        case .current, .new, .again, .sure:
            answers.append(line)
        }
        return answers.count < steps.count ? .more : .done(action)
    }

    private var action: AccountAction {
        let last = answers.last ?? ""
        return switch purpose {
        case .upgrade(let email): .upgrade(email: email, password: last)
        case .signIn(let email): .signIn(email: email, password: last)
        case .changePassword: .changePassword(from: answers.first ?? "", to: last)
        case .delete(let isGuest): .delete(password: isGuest ? nil : last)
        }
    }
}

/// An action on the signed-in account.
enum AccountAction: Sendable, Equatable {
    case upgrade(email: String, password: String)
    case signIn(email: String, password: String)
    case changePassword(from: String, to: String)
    case logout(everywhere: Bool)
    case delete(password: String?)
}
