-- The search of messages (sql/functions/app/message_search.sql): one inverted index over the words of each text, and
-- over two words of ours by which a search is narrowed. A text search configuration would depend on the database's
-- locale and on the extension unaccent, and would keep a sentence without blanks as one word. A change of these
-- functions is a migration that builds the index anew.

-- Returns a text in small letters without accents, as app.folded compares names, and with blanks in the place of
-- punctuation and symbols. app.folded takes 0.6 ms for 70 characters, since it looks up each in a table of 1,400. It is
-- called here once for each different rare letter only.
create function app.search_text(content text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    marks constant text := '[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7'
        '\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u1ab0-\u1ace'
        '\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0\u302a-\u302f\ufe00-\ufe0f\ufe20-\ufe2f'
        '\ufeff]+';
    folded text := content;
    letter text;
begin
    if octet_length(content) > char_length(content) then
        -- To decompose a run of marks takes the square of its length.
        if char_length(content) > 1000 then
            folded := regexp_replace(folded, marks, '', 'g');
        end if;
        folded := regexp_replace(normalize(folded, NFKD), marks, '', 'g');
    end if;
    if octet_length(folded) > char_length(folded) then
        if folded ~ '[ÐØðøĐđŁłı\u0391-\u03c2\u0400-\u042f\u0629-\u06cc]' then
            folded := translate(folded,
                e'ÐØðøĐđŁłıΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏ'
                '\u0629\u0649\u06a9\u06be\u06c1\u06cc',
                e'dododdlliαβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџ'
                '\u0647\u064a\u0643\u0647\u0647\u064a');
        end if;
        if folded ~ '[ÆæŒœÞþßſ]' then
            folded := replace(replace(replace(replace(folded, 'ß', 'ss'), 'Æ', 'ae'), 'æ', 'ae'), 'ſ', 's');
            folded := replace(replace(replace(replace(folded, 'Œ', 'oe'), 'œ', 'oe'), 'Þ', 'th'), 'þ', 'th');
        end if;
        -- Syllables of Hangul and voiced kana become one character again.
        if folded ~ '[\u1100-\u11ff\u3099\u309a]' then
            folded := normalize(folded, NFC);
        end if;
        for letter in
            select distinct l[1] from regexp_matches(folded,
                '[\u0126-\u0127\u0138\u014a-\u014b\u0166-\u0167\u0180-\u02af\u0370-\u0377\u037f\u03cf-\u03ff'
                '\u0460-\u0481\u048a-\u0556\u0671\u10a0-\u10cd\u13f8-\u13fd\u1c80-\u1cbf\u1d6b-\u1d9a\u1e9c-'
                '\u1eff\u2132\u2183'
                '\u2c00-\u2cf3\ua640-\ua69b\ua722-\ua7f6\uab30-\uabbf\U00010400-\U00010595\U00010c80-\U00010ead'
                '\U000118a0-\U000118bf\U00016e40-\U00016e5f\U0001df00-\U0001df2a\U0001e900-\U0001e921]', 'g') as l
        loop
            folded := replace(folded, letter, app.folded(letter));
        end loop;
        return btrim(regexp_replace(lower(folded collate "C"),
            '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u00d7\u00f7\u02b0-\u02ff\u037e\u0387\u055a-\u055f\u0589-\u058f'
            '\u05be\u05c0\u05c3\u05c6\u05f3-\u05f4\u0600-\u060f\u061b-\u061f\u066a-\u066d\u06d4\u0964-\u0965\u0970'
            '\u0e2f\u0e3f\u0e4f\u0e5a-\u0e5b\u104a-\u104f\u10fb\u1360-\u1368\u166d-\u166e\u1680\u17d4-\u17db'
            '\u1800-\u180e\u2000-\u209f\u20a0-\u20cf\u2100-\u214f\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3007-\u3020'
            '\u3030\u303d-\u303f\u309b-\u309c\u30a0\u30fb\uff00-\uff0f\ufff0-\uffff\U0001f000-\U0001fbff]+', ' ', 'g'));
    end if;
    return btrim(regexp_replace(lower(folded collate "C"), '[^a-z0-9]+', ' ', 'g'));
end
$$;

-- Returns the words of a text of app.search_text. Chinese, Japanese, Korean, Thai and their neighbours are written
-- without blanks, or with particles at the words: of these, every two characters that follow each other are a word, and
-- so is the last character. In a long text a word has at most 100 characters, as a query has, since index entries have
-- a bound.
create function app.search_words(folded text) returns text[]
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    words text[];
    characters text[];
begin
    if folded !~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]' then
        words := string_to_array(folded, ' ');
    else
        words := string_to_array(btrim(regexp_replace(folded,
            '[ \u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]+', ' ', 'g')), ' ');
        characters := string_to_array(regexp_replace(folded,
            '[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]+', ' ', 'g'), null);
        words := words || array(
            select btrim(c.this || coalesce(c.next, ''))
              from unnest(characters, characters[2:]) as c (this, next)
             where c.this <> ' ');
    end if;
    if char_length(folded) > 500 then
        words := array(select left(w, 100) from unnest(words) as w);
    end if;
    return words;
end
$$;

-- Returns the words by which a message is found: those of its text, and three that begin with "@", as no word of a text
-- does: for its conversation, and for the spans of 12 days and of 18 hours in which it was sent.
--
-- Most messages are short and in ASCII. Of these it makes the words itself, in one expression: each costs some
-- microseconds in a new transaction.
create function app.message_words(conversation_id uuid, created_at timestamptz, content text) returns tsvector
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    -- Computed from a difference, since the epoch of a time is not immutable.
    seconds bigint := floor(extract(epoch from least(created_at, timestamptz '9999-01-01 00:00:00+00')
                                               - timestamptz '2000-01-01 00:00:00+00'));
begin
    if octet_length(content) = char_length(content) and octet_length(content) <= 500 then
        return array_to_tsvector(string_to_array(ltrim(concat(
            regexp_replace(lower(content collate "C") || '@', '[^a-z0-9]+', ' ', 'g'),
            '@', right(conversation_id::text, 12), ' @l', seconds >> 20, ' @s', seconds >> 16)), ' '));
    end if;
    return array_to_tsvector(app.search_words(app.search_text(content)) || array[
        '@' || right(conversation_id::text, 12), '@l' || (seconds >> 20), '@s' || (seconds >> 16)]);
end
$$;

-- Nodes of the previous version write messages before policies.sql is applied.
grant execute on function
    app.folded(text), app.search_text(text), app.search_words(text), app.message_words(uuid, timestamptz, text)
    to authenticated, service_role, postline_sender;

-- Sends append to the pending list, which app.flush_message_words merges into the index: a merge of many costs a fifth
-- of what each alone would. The limit, at which a send merges the list itself, is never reached while a node runs.
create index messages_words on public.messages using gin (app.message_words(conversation_id, created_at, content))
    with (fastupdate = on, gin_pending_list_limit = 16384) where content <> '';
-- Nothing is planned by them, and they would cost ANALYZE a second.
alter index public.messages_words alter column 1 set statistics 0;
