import Foundation

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

#if os(iOS)
import UIKit
#endif

extension View {
    /// The keyboard for email addresses, without corrections.
    func emailKeyboard() -> some View {
        #if os(iOS)
        keyboardType(.emailAddress).textInputAutocapitalization(.never).textContentType(.username)
        #else
        self
        #endif
    }
}
