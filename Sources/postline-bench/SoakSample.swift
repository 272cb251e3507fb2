/// A sample: half a minute of a steady run.
struct SoakSample: Sendable {
    /// The time of the sample, in minutes since the start.
    let minutes: Double

    /// The latencies of sends.
    let sends: Percentiles

    /// The node's resident memory, in bytes.
    let memory: Double
    let database: SoakDatabase

    /// The number of messages.
    let messages: Int
}

/// The statistics of the tables that every message writes.
struct SoakDatabase: Sendable, Equatable {
    /// The WAL bytes written so far.
    let logBytes: Double

    /// The updated rows of conversations and members so far, and those updated in place (HOT).
    let updates: Double
    let updatesInPlace: Double

    /// The dead rows of conversations, members and messages.
    let deadRows: Double

    /// The size of messages, in bytes.
    let tableBytes: Double
    let indexBytes: Double

    /// The size of conversations and members with their indexes, in bytes.
    let conversationBytes: Double

    static let question = """
        select pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
               sum(n_tup_upd) filter (where relname <> 'messages'),
               sum(n_tup_hot_upd) filter (where relname <> 'messages'),
               sum(n_dead_tup),
               pg_table_size('public.messages'), pg_indexes_size('public.messages'),
               pg_total_relation_size('public.conversations')
                   + pg_total_relation_size('public.conversation_members')
          from pg_stat_user_tables
         where schemaname = 'public' and relname in ('conversations', 'conversation_members', 'messages');
        """

    /// - Parameter row: the result, with columns separated by `|`.
    init(row: some StringProtocol) throws {
        let numbers = row.split(separator: "|").compactMap { Double(String($0.filter { !$0.isWhitespace })) }
        guard numbers.count == 7 else { throw BenchError("The database does not say how its tables are: \(row)") }
        logBytes = numbers[0]
        updates = numbers[1]
        updatesInPlace = numbers[2]
        deadRows = numbers[3]
        tableBytes = numbers[4]
        indexBytes = numbers[5]
        conversationBytes = numbers[6]
    }
}

/// A value over a whole run.
struct SoakSeries: Sendable {
    /// The stable name, for scripts.
    let name: String

    /// The chart's title, with its unit.
    let title: String
    let values: [Double]

    /// The goal of the growth.
    let goal: BenchResult.Goal

    /// Returns the compared samples: the second sixth and the last.
    static func compared(_ count: Int) -> (second: Range<Int>, last: Range<Int>) {
        let sixth = max(1, count / 6)
        return (min(sixth, count)..<min(2 * sixth, count), max(count - sixth, 0)..<count)
    }

    /// The ratio of the last sixth's median to the second's, or nil with fewer than six values. Values below one count
    /// as one: a table that gets its first dead row has not grown without bound.
    var growth: Double? {
        let (second, last) = Self.compared(values.count)
        guard values.count >= 6, let before = median(Array(values[second])), let after = median(Array(values[last]))
        else { return nil }
        return max(after, 1) / max(before, 1)
    }

    /// The result.
    var figure: BenchResult? {
        growth.map { BenchResult(name: "steady_\(name)_growth", value: $0, unit: "ratio", goal: goal) }
    }

    /// Returns all series of a run.
    ///
    /// - Parameter start: the state of the database at the start.
    static func all(_ samples: [SoakSample], since start: SoakSample) -> [SoakSeries] {
        let spans = zip([start] + samples, samples)
        func makeSeries(
            _ name: String, _ title: String, _ goal: BenchResult.Goal, _ value: (SoakSample) -> Double
        ) -> SoakSeries {
            SoakSeries(name: name, title: title, values: samples.map(value), goal: goal)
        }
        return [
            // In microseconds, since values below one unit are not distinguished.
            makeSeries("send_p50", "Sends answered, ms", .below(1.25)) { ($0.sends.milliseconds(50) ?? 0) * 1000 },
            makeSeries("send_p99", "Sends answered, ms", .below(1.5)) { ($0.sends.milliseconds(99) ?? 0) * 1000 },
            makeSeries("memory", "The node's memory, MiB", .below(1.1)) { $0.memory },
            makeSeries("dead_rows", "Dead rows of the hot tables", .below(1.5)) { $0.database.deadRows },
            makeSeries("chat_bytes", "Conversations on disk, MiB", .below(1.25)) {
                $0.database.conversationBytes
            },
            makeSeries("table_bytes", "Bytes of table a message", .below(1.1)) {
                $0.database.tableBytes / Double(max($0.messages, 1))
            },
            makeSeries("index_bytes", "Bytes of indexes a message", .below(1.1)) {
                $0.database.indexBytes / Double(max($0.messages, 1))
            },
            SoakSeries(
                name: "log_bytes", title: "Bytes of log (WAL) a message",
                values: spans.map { before, now in
                    (now.database.logBytes - before.database.logBytes) / Double(max(now.messages - before.messages, 1))
                }, goal: .below(1.25)),
            SoakSeries(
                name: "hot_share", title: "Updates in place (HOT), %",
                values: spans.map { before, now in
                    100 * (now.database.updatesInPlace - before.database.updatesInPlace)
                        / max(now.database.updates - before.database.updates, 1)
                }, goal: .atLeast(0.98)),
        ]
    }
}
