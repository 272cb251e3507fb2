/// What a person is asked for before an account changes, line by line: a command alone would show a password.
struct Question: Sendable, Equatable {
    enum Purpose: Sendable, Equatable {
        /// To make the guest an account with this address.
        case upgrade(email: String)
        /// To bring the guest into the account with this address.
        case signIn(email: String)
        case changePassword
        case delete(isGuest: Bool)
    }

    /// What a line that was typed leads to.
    enum Outcome: Sendable, Equatable {
        /// The next line is asked for.
        case more
        case done(AccountAction)
        /// Nothing is done, for this reason.
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

    /// Whether the next line is not to be shown while it is typed.
    var isSecret: Bool { step != .sure }

    /// What is asked for next.
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

    /// Takes the next line in; an empty one gives up.
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

/// What is done to the account that is signed in.
enum AccountAction: Sendable, Equatable {
    case upgrade(email: String, password: String)
    case signIn(email: String, password: String)
    case changePassword(from: String, to: String)
    case logout(everywhere: Bool)
    case delete(password: String?)
}
