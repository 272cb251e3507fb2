import Foundations
import LineClient
import PrivatePostgres
import WireProtocol

/// The duration of a search among a million users, including typos.
struct SearchBench {
    private static let profiles = 1_000_000
    private static let first = [
        "Alice", "Bob", "Carol", "David", "Erin", "Fatima", "Giovanni", "Hanna", "Ivan", "Julia", "Kenji", "Lena",
        "Maria", "Noah", "Olivia", "Pedro", "Qing", "Rosa", "Samuel", "Tariq", "Ulrike", "Victor", "Wanjiru", "Xavier",
        "Yara", "Zoë", "Søren", "Émile", "Łukasz", "Nguyễn",
    ]
    /// Three of them form a last name: 216,000 combinations, about the vocabulary of a million names.
    private static let syllables = [
        "ba", "be", "bo", "cas", "ce", "chi", "da", "der", "do", "el", "en", "fa", "fer", "ga", "gar", "go", "ha",
        "hen",
        "ho", "in", "ja", "jen", "ka", "kin", "ko", "la", "len", "lo", "ma", "mar", "mer", "mo", "na", "nak", "no",
        "ol",
        "or", "pa", "per", "qui", "ra", "ren", "ri", "ro", "sa", "sch", "sen", "so", "ta", "ter", "to", "ul", "va",
        "ver",
        "wa", "wil", "xi", "ya", "zen", "zo",
    ]

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard let user = world.pairs.first?.sender else { throw BenchError("There is nobody to search.") }
        say("making \(Self.profiles) profiles, which takes a minute or some …")
        try await fill()
        let client = try await world.connect(user)
        var table = ["Searches among \(Self.profiles) profiles, one after another"]
        var all: [Duration] = []
        for (kind, make) in Self.kinds {
            let end = ContinuousClock.now + .seconds(max(1, seconds / Self.kinds.count))
            var latencies: [Duration] = []
            var found = 0
            while ContinuousClock.now < end {
                let query = make()
                let start = ContinuousClock.now
                let answer = try await client.call("profiles.search", ["query": .string(query)])
                latencies.append(ContinuousClock.now - start)
                found += answer["profiles"]?.arrayValue?.count ?? 0
            }
            let times = Percentiles(latencies)
            table.append(
                "  \(TextWidth.fit(kind, to: 22)) p50 \(times.text(50)) ms, p99 \(times.text(99)) ms, "
                    + "\(BenchResult.text(Double(found) / Double(max(1, times.count)), 1)) found")
            all += latencies
        }
        await client.close()
        let times = Percentiles(all)
        return (
            table,
            [
                BenchResult(name: "search_p50_ms", value: times.milliseconds(50) ?? 0, unit: "ms", goal: nil),
                BenchResult(name: "search_p99_ms", value: times.milliseconds(99) ?? 0, unit: "ms", goal: .below(20)),
            ]
        )
    }

    private static let kinds: [(String, @Sendable () -> String)] = [
        ("a full name", { "\(pick(first)) \(lastName())" }),
        ("the beginning of one", { String(pick(first).prefix(3)) }),
        ("two letters", { String(lastName().prefix(2)) }),
        ("a last name", { lastName() }),
        ("a name with a typo", { typo(lastName()) }),
        ("a full name, one typo", { "\(pick(first)) \(typo(lastName()))" }),
        ("a username", { "\(pick(first).lowercased().filter(\.isASCII))\(Int.random(in: 1...profiles))" }),
        ("nobody's name", { "Zqxwv \(Int.random(in: 1...9999))" }),
    ]

    private static func pick(_ names: [String]) -> String { names.randomElement() ?? "" }

    private static func lastName() -> String {
        (0..<3).map { _ in pick(syllables) }.joined().capitalizedFirst
    }

    /// Returns the name with two letters swapped.
    private static func typo(_ name: String) -> String {
        var letters = Array(name)
        guard letters.count > 3 else { return name }
        let place = Int.random(in: 1..<letters.count - 1)
        letters.swapAt(place, place + 1)
        return String(letters)
    }

    /// Inserts rows without triggers, as a restored dump does, which is faster.
    private func fill() async throws {
        func list(_ names: [String]) -> String { "array['\(names.joined(separator: "','"))']" }
        try await world.postgres.psql(
            """
            set session_replication_role = replica;
            insert into public.user_profiles (id, username, full_name)
            select gen_random_uuid(), left(lower(regexp_replace(f, '[^A-Za-z]', 'x', 'g')), 20) || n,
                   f || ' ' || initcap(a || b || c)
              from generate_series(1, \(Self.profiles)) n,
                   lateral (select (\(list(Self.first)))[1 + floor(random() * \(Self.first.count) + n * 0)] as f,
                                   (\(list(Self.syllables)))[1 + floor(random() * \(Self.syllables.count) + n * 0)] as a,
                                   (\(list(Self.syllables)))[1 + floor(random() * \(Self.syllables.count) + n * 0)] as b,
                                   (\(list(Self.syllables)))[1 + floor(random() * \(Self.syllables.count) + n * 0)] as c
                   ) names;
            insert into app.search_names (user_id, username, full_name, spelled_out, words)
            select p.id, p.username, f.name, f.spelled, app.name_words(p.username, f.name, f.spelled)
              from public.user_profiles p,
                   lateral (select left(app.folded(p.full_name), 100) as name,
                                   left(app.spelled_out(p.full_name), 100) as spelled offset 0) f
             where not p.is_guest and not p.is_deleted
            on conflict do nothing;
            insert into app.words (word) select distinct w from app.search_names s, unnest(s.words) as w
            on conflict do nothing;
            vacuum analyze public.user_profiles;
            vacuum analyze app.search_names;
            vacuum analyze app.words;
            """, database: "postline")
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
