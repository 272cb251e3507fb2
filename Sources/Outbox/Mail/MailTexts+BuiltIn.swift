extension MailTexts {
    /// The built-in texts, by language tag.
    static let builtIn: [String: Texts] = phrases.mapValues(\.texts)

    /// The phrases of the built-in mails.
    private struct Phrases {
        let confirm: MailText
        let change: MailText
        let changed: MailText
        let reset: MailText
        /// The validity, and what to do if the user did not ask for the mail.
        let end: String

        var texts: Texts {
            func withLink(_ text: MailText) -> MailText {
                MailText(subject: text.subject, body: "\(text.body)\n\n{link}\n\n\(end)\n")
            }
            return [
                .confirmEmail: withLink(confirm), .changeEmail: withLink(change), .resetPassword: withLink(reset),
                .emailChanged: MailText(subject: changed.subject, body: "\(changed.body)\n"),
            ]
        }
    }

    private static let phrases: [String: Phrases] = [
        "en": Phrases(
            confirm: MailText(
                subject: "Confirm your email address",
                body: "Please confirm that this is the email address of your account at {app}:"),
            change: MailText(
                subject: "Confirm your new email address",
                body: "Please confirm that this is to be the email address of your account at {app}:"),
            changed: MailText(
                subject: "Your email address was changed",
                body: """
                    Your account at {app} has another email address now, and no longer this one.

                    If it was not you who changed it, write to {app} at once.
                    """),
            reset: MailText(
                subject: "Set a new password", body: "With this you set a new password for your account at {app}:"),
            end: "It works once, and for an hour. If it was not you who asked for it, ignore this mail."),
        "de": Phrases(
            confirm: MailText(
                subject: "Bestätigen Sie Ihre E-Mail-Adresse",
                body: "Bitte bestätigen Sie, dass dies die E-Mail-Adresse Ihres Kontos bei {app} ist:"),
            change: MailText(
                subject: "Bestätigen Sie Ihre neue E-Mail-Adresse",
                body: "Bitte bestätigen Sie, dass dies die E-Mail-Adresse Ihres Kontos bei {app} werden soll:"),
            changed: MailText(
                subject: "Ihre E-Mail-Adresse wurde geändert",
                body: """
                    Ihr Konto bei {app} hat jetzt eine andere E-Mail-Adresse und nicht mehr diese.

                    Wenn nicht Sie das waren, schreiben Sie sofort an {app}.
                    """),
            reset: MailText(
                subject: "Neues Passwort festlegen",
                body: "Damit legen Sie ein neues Passwort für Ihr Konto bei {app} fest:"),
            end: """
                Es gilt einmal und eine Stunde lang. Wenn nicht Sie darum gebeten haben, beachten Sie diese Mail nicht.
                """),
        "es": Phrases(
            confirm: MailText(
                subject: "Confirma tu dirección de correo",
                body: "Confirma que esta es la dirección de correo de tu cuenta de {app}:"),
            change: MailText(
                subject: "Confirma tu nueva dirección de correo",
                body: "Confirma que esta será la dirección de correo de tu cuenta de {app}:"),
            changed: MailText(
                subject: "Tu dirección de correo ha cambiado",
                body: """
                    Tu cuenta de {app} tiene ahora otra dirección de correo y ya no esta.

                    Si no lo has hecho tú, escribe a {app} cuanto antes.
                    """),
            reset: MailText(
                subject: "Elige una contraseña nueva",
                body: "Con esto eliges una contraseña nueva para tu cuenta de {app}:"),
            end: "Sirve una vez y durante una hora. Si no lo has pedido tú, ignora este correo."),
        "fr": Phrases(
            confirm: MailText(
                subject: "Confirmez votre adresse e-mail",
                body: "Veuillez confirmer que ceci est l’adresse e-mail de votre compte {app} :"),
            change: MailText(
                subject: "Confirmez votre nouvelle adresse e-mail",
                body: "Veuillez confirmer que ceci sera l’adresse e-mail de votre compte {app} :"),
            changed: MailText(
                subject: "Votre adresse e-mail a été modifiée",
                body: """
                    Votre compte {app} a maintenant une autre adresse e-mail et n’a plus celle-ci.

                    Si ce n’est pas vous, écrivez immédiatement à {app}.
                    """),
            reset: MailText(
                subject: "Choisissez un nouveau mot de passe",
                body: "Ceci vous permet de choisir un nouveau mot de passe pour votre compte {app} :"),
            end: """
                Utilisable une seule fois, pendant une heure. Si vous n’avez rien demandé, ignorez cet e-mail.
                """),
        "it": Phrases(
            confirm: MailText(
                subject: "Conferma il tuo indirizzo email",
                body: "Conferma che questo è l’indirizzo email del tuo account {app}:"),
            change: MailText(
                subject: "Conferma il tuo nuovo indirizzo email",
                body: "Conferma che questo sarà l’indirizzo email del tuo account {app}:"),
            changed: MailText(
                subject: "Il tuo indirizzo email è stato cambiato",
                body: """
                    Il tuo account {app} ha ora un altro indirizzo email e non più questo.

                    Se non sei stato tu, scrivi subito a {app}.
                    """),
            reset: MailText(
                subject: "Imposta una nuova password",
                body: "Con questo imposti una nuova password per il tuo account {app}:"),
            end: "Vale una volta sola e per un’ora. Se non l’hai chiesto tu, ignora questa email."),
        "ja": Phrases(
            confirm: MailText(
                subject: "メールアドレスの確認", body: "{app} のアカウントのメールアドレスであることを確認してください："),
            change: MailText(
                subject: "新しいメールアドレスの確認", body: "{app} のアカウントの新しいメールアドレスであることを確認してください："),
            changed: MailText(
                subject: "メールアドレスが変更されました",
                body: """
                    {app} のアカウントのメールアドレスが、このアドレスから別のものに変更されました。

                    お心当たりがない場合は、すぐに {app} までご連絡ください。
                    """),
            reset: MailText(subject: "パスワードの再設定", body: "これで {app} のアカウントの新しいパスワードを設定できます："),
            end: "有効期間は1時間、使えるのは1回です。お心当たりがない場合は、このメールを無視してください。"),
        "ko": Phrases(
            confirm: MailText(subject: "이메일 주소 확인", body: "{app} 계정의 이메일 주소가 맞는지 확인해 주세요:"),
            change: MailText(subject: "새 이메일 주소 확인", body: "{app} 계정의 새 이메일 주소가 맞는지 확인해 주세요:"),
            changed: MailText(
                subject: "이메일 주소가 변경되었습니다",
                body: """
                    {app} 계정의 이메일 주소가 이 주소에서 다른 주소로 변경되었습니다.

                    본인이 변경하지 않았다면 바로 {app}에 알려 주세요.
                    """),
            reset: MailText(subject: "비밀번호 재설정", body: "이것으로 {app} 계정의 새 비밀번호를 설정할 수 있습니다:"),
            end: "한 시간 동안 한 번만 사용할 수 있습니다. 요청하지 않았다면 이 메일을 무시하세요."),
        "nl": Phrases(
            confirm: MailText(
                subject: "Bevestig je e-mailadres",
                body: "Bevestig dat dit het e-mailadres van je account bij {app} is:"),
            change: MailText(
                subject: "Bevestig je nieuwe e-mailadres",
                body: "Bevestig dat dit het e-mailadres van je account bij {app} wordt:"),
            changed: MailText(
                subject: "Je e-mailadres is gewijzigd",
                body: """
                    Je account bij {app} heeft nu een ander e-mailadres en niet meer dit.

                    Als jij dat niet was, schrijf dan meteen naar {app}.
                    """),
            reset: MailText(
                subject: "Kies een nieuw wachtwoord",
                body: "Hiermee kies je een nieuw wachtwoord voor je account bij {app}:"),
            end: "Het werkt één keer, een uur lang. Als jij er niet om hebt gevraagd, negeer dan deze mail."),
        "pl": Phrases(
            confirm: MailText(
                subject: "Potwierdź swój adres e-mail",
                body: "Potwierdź, że to adres e-mail Twojego konta w {app}:"),
            change: MailText(
                subject: "Potwierdź swój nowy adres e-mail",
                body: "Potwierdź, że to ma być adres e-mail Twojego konta w {app}:"),
            changed: MailText(
                subject: "Twój adres e-mail został zmieniony",
                body: """
                    Twoje konto w {app} ma teraz inny adres e-mail, a nie ten.

                    Jeśli to nie Ty, napisz od razu do {app}.
                    """),
            reset: MailText(
                subject: "Ustaw nowe hasło", body: "W ten sposób ustawisz nowe hasło do swojego konta w {app}:"),
            end: "Działa raz i przez godzinę. Jeśli to nie Ty o to prosisz, zignoruj tę wiadomość."),
        "pt": Phrases(
            confirm: MailText(
                subject: "Confirme o seu endereço de e-mail",
                body: "Confirme que este é o endereço de e-mail da sua conta em {app}:"),
            change: MailText(
                subject: "Confirme o seu novo endereço de e-mail",
                body: "Confirme que este será o endereço de e-mail da sua conta em {app}:"),
            changed: MailText(
                subject: "O seu endereço de e-mail foi alterado",
                body: """
                    A sua conta em {app} tem agora outro endereço de e-mail e já não este.

                    Se não foi você, escreva imediatamente para {app}.
                    """),
            reset: MailText(
                subject: "Defina uma nova senha", body: "Com isto define uma nova senha para a sua conta em {app}:"),
            end: "Funciona uma vez e durante uma hora. Se não foi você quem pediu, ignore este e-mail."),
        "tr": Phrases(
            confirm: MailText(
                subject: "E-posta adresinizi doğrulayın",
                body: "Bunun {app} hesabınızın e-posta adresi olduğunu doğrulayın:"),
            change: MailText(
                subject: "Yeni e-posta adresinizi doğrulayın",
                body: "Bunun {app} hesabınızın yeni e-posta adresi olacağını doğrulayın:"),
            changed: MailText(
                subject: "E-posta adresiniz değiştirildi",
                body: """
                    {app} hesabınızın e-posta adresi artık bu değil, başka bir adres.

                    Bunu siz yapmadıysanız hemen {app} ile iletişime geçin.
                    """),
            reset: MailText(
                subject: "Yeni parola belirleyin", body: "Bununla {app} hesabınız için yeni bir parola belirlersiniz:"),
            end: "Bir kez ve bir saat boyunca geçerlidir. Bunu siz istemediyseniz bu e-postayı dikkate almayın."),
        "uk": Phrases(
            confirm: MailText(
                subject: "Підтвердьте свою електронну адресу",
                body: "Підтвердьте, що це електронна адреса вашого облікового запису в {app}:"),
            change: MailText(
                subject: "Підтвердьте свою нову електронну адресу",
                body: "Підтвердьте, що це має бути електронна адреса вашого облікового запису в {app}:"),
            changed: MailText(
                subject: "Вашу електронну адресу змінено",
                body: """
                    Ваш обліковий запис у {app} тепер має іншу електронну адресу, а не цю.

                    Якщо це зробили не ви, негайно напишіть до {app}.
                    """),
            reset: MailText(
                subject: "Установіть новий пароль",
                body: "Так ви встановите новий пароль до свого облікового запису в {app}:"),
            end: "Діє один раз і впродовж години. Якщо ви цього не просили, не зважайте на цей лист."),
        "zh": Phrases(
            confirm: MailText(subject: "确认您的邮箱地址", body: "请确认这是您在 {app} 的账号的邮箱地址："),
            change: MailText(subject: "确认您的新邮箱地址", body: "请确认这将是您在 {app} 的账号的邮箱地址："),
            changed: MailText(
                subject: "您的邮箱地址已更改",
                body: """
                    您在 {app} 的账号现在使用另一个邮箱地址，不再使用此地址。

                    如果这不是您本人的操作，请立即联系 {app}。
                    """),
            reset: MailText(subject: "设置新密码", body: "您可以用它为您在 {app} 的账号设置新密码："),
            end: "一小时内有效，仅可使用一次。如果这不是您本人的请求，请忽略此邮件。"),
    ]
}
