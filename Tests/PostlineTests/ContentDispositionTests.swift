import Media
import Testing

@Suite("Content-Disposition")
struct ContentDispositionTests {
    @Test(
        "has the name for all recipients (RFC 6266)",
        arguments: [
            (nil, "attachment"), ("a b.pdf", #"attachment; filename="a b.pdf""#),
            ("é.pdf", "attachment; filename=\"_.pdf\"; filename*=UTF-8''%C3%A9.pdf"),
            (#"a"b\c.pdf"#, #"attachment; filename="a_b_c.pdf"; filename*=UTF-8''a%22b_c.pdf"#),
            ("../../etc/passwd", #"attachment; filename=".._.._etc_passwd""#),
            ("50%.txt", "attachment; filename=\"50_.txt\"; filename*=UTF-8''50%25.txt"),
            ("a\r\nX: y", "attachment; filename=\"a__X: y\"; filename*=UTF-8''a%0D%0AX%3A%20y"),
        ])
    func names(_ name: String?, _ field: String) {
        #expect(ContentDisposition.download(name) == field)
        #expect(ContentDisposition.inline(name) == "inline" + field.dropFirst("attachment".count))
    }
}
