import Testing

@testable import Chat
@testable import Postline

@Suite("Chat files")
struct FileTests {
    private static let saveUsage = "/save PATH, or /save #NUMBER PATH; a PATH with blanks is in quotes"

    private let plan = Message.Attachment(
        url: "https://a.example.com/1", mimeType: "application/pdf", bytes: 5_000, name: "Plan.pdf")

    /// Bob has written a text, then sent a file, then written another text.
    private var model: ChatModel {
        var scene = Scene()
        scene.say("Plan.pdf")
        scene.messages[Fixture.direct]?[2].kind = .file
        scene.messages[Fixture.direct]?[2].attachments = [uploaded(plan)]
        scene.say("Read it")
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        return model
    }

    private func uploaded(_ attachment: Message.Attachment) -> Message.Attachment {
        var attachment = attachment
        attachment.mediaID = "20000000-0000-4000-8000-000000000001"
        return attachment
    }

    @Test(
        "reads the path and text of /file",
        arguments: [
            ("/file plan.pdf", TypedLine.file(path: "plan.pdf", text: "")),
            ("/file ~/a/plan.pdf The plan", .file(path: "~/a/plan.pdf", text: "The plan")),
            ("/file \"my plan.pdf\" The  plan", .file(path: "my plan.pdf", text: "The  plan")),
            ("/file '/tmp/it''s' x", .file(path: "/tmp/it", text: "'s' x")),
            ("/file /tmp/my\\ plan\\ \\(1\\).pdf The plan", .file(path: "/tmp/my plan (1).pdf", text: "The plan")),
            ("/file \"my plan.pdf", .file(path: "\"my", text: "plan.pdf")),
            ("/file", .incomplete(usage: "/file PATH, or /file PATH TEXT")),
        ])
    func file(line: String, command: TypedLine) {
        #expect(TypedLine(line) == command)
    }

    @Test(
        "reads the number and path of /save",
        arguments: [
            ("/save ~/Downloads", TypedLine.save(seq: nil, path: "~/Downloads")),
            ("/save #12 a.pdf", .save(seq: 12, path: "a.pdf")),
            ("/save #12 \"a b.pdf\"", .save(seq: 12, path: "a b.pdf")),
            ("/save", .incomplete(usage: saveUsage)), ("/save #12", .incomplete(usage: saveUsage)),
            ("/save a b", .incomplete(usage: saveUsage)),
        ])
    func save(line: String, command: TypedLine) {
        #expect(TypedLine(line) == command)
    }

    @Test("sends a file with the mentions of its text, in an open conversation only")
    func sends() {
        var model = model
        #expect(
            model.perform(.file(path: "a.pdf", text: "See, @bob")) == [
                .effect(
                    .file(
                        .send(
                            path: "a.pdf", text: "See, @bob", conversationID: Fixture.direct,
                            details: MessageDetails(mentions: [Fixture.bob]))))
            ])
        #expect(
            model.perform(.image(path: "a b.png"))
                == [.effect(.file(.send(path: "a b.png", text: "", conversationID: Fixture.direct)))])
        var closed = Fixture.model()
        #expect(closed.perform(.file(path: "a", text: "")) == [.notice(.failed(ChatModel.noneIsOpen))])
        #expect(closed.perform(.save(seq: nil, path: "a")) == [.notice(.failed(ChatModel.noneIsOpen))])
    }

    @Test("saves the last files, or those of a message by its number")
    func saves() {
        var model = model
        let saved: [ChatOutput] = [.effect(.file(.save([uploaded(plan)], path: "/tmp")))]
        #expect(model.perform(.save(seq: nil, path: "/tmp")) == saved)
        #expect(model.perform(.save(seq: 3, path: "/tmp")) == saved)
        #expect(model.perform(.save(seq: 4, path: "/tmp")) == [.notice(.failed("Message #4 has no file."))])
        #expect(
            model.perform(.save(seq: 9, path: "/tmp"))
                == [.notice(.failed("There is no message #9 here. /numbers lists them."))])
    }

    @Test("keeps the files of a refused message when its text is edited")
    func refused() {
        var message = Fixture.message(
            nil, "Plan.pdf", from: Fixture.alice, delivery: .refused(PostlineError(.forbidden, "No."), change: 1))
        message.attachments = [plan]
        let reason = "Its files were refused too. /delete gives it up; then send them again."
        #expect(model.edit(message, to: "x") == [.notice(.failed(reason))])
    }

    @Test("shows kind, name, size and length of each file, and a name once")
    func shown() {
        func content(_ content: String, _ attachments: [Message.Attachment]) -> String {
            var message = Fixture.message(1, content)
            message.attachments = attachments
            return message.shownContent
        }
        #expect(content("Plan.pdf", [uploaded(plan)]) == "[a file, Plan.pdf, 5000 bytes]")
        #expect(content("See", [uploaded(plan)]) == "See\n[a file, Plan.pdf, 5000 bytes]")
        var lake = Message.Attachment(
            url: "", mimeType: "video/mp4", width: 640, height: 480, bytes: 12 << 20, name: "lake.mp4")
        lake.duration = .seconds(65)
        #expect(content("", [lake]) == "[a video, lake.mp4, 640×480, 12 MB, 1:05]")
        lake.duration = .milliseconds(3_723_999)
        #expect(content("", [lake]).hasSuffix(", 1:02:03]"))
        var voice = Message.Attachment(url: "", mimeType: "audio/ogg", bytes: 20_480)
        (voice.duration, voice.waveform) = (.seconds(9), [1, 2])
        #expect(content("", [voice]) == "[a voice message, 20 KB, 0:09]")
        let picture = Message.Attachment(url: "", mimeType: "image/png", width: 4, height: 3, bytes: 10)
        #expect(content("", [picture, voice]) == "[a picture, 4×3, 10 bytes]\n[a voice message, 20 KB, 0:09]")
        #expect(content("", [plan]) == "https://a.example.com/1")
        let quote = Message.Quote(seq: 1, senderID: Fixture.bob, kind: .video, content: "")
        #expect(model.shown.text(of: quote) == "Bob Brown: [a video]")
    }

    @Test("/help and completion have the commands")
    func help() {
        let completion = Completion("/sa", model)
        #expect(completion?.candidates == ["/save "])
        #expect(Completion("/fi", model)?.candidates == ["/file "])
    }
}
