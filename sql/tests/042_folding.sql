-- Names are compared by Unicode, with the same results in every database.
begin;
select no_plan();
select tests.make_world();

-- E15, E16: a text and its folded form.
select is(app.folded(text), folded, format('"%s" is compared as "%s"', text, folded))
  from (values
        ('Anna', 'anna'), ('  Anna   Maria ', 'anna maria'), ('AÀÁÂÃÄÅĀĂĄǍ', 'aaaaaaaaaaa'), ('Đặng Văn Hùng',
        'dang van hung'),
        ('Nguyễn Thị Hoài', 'nguyen thi hoai'), ('Müller', 'muller'), ('Straße', 'strasse'), ('STRAẞE', 'strasse'),
        ('Łukasz Żółć', 'lukasz zolc'), ('Ørsted', 'orsted'), ('Æther', 'aether'), ('Œuvre', 'oeuvre'),
        ('Þór', 'thor'), ('Guðrún', 'gudrun'), ('Ħal Għaxaq', 'hal ghaxaq'), ('Ŧest Ŋ', 'test n'), ('Iİıi', 'iiii'),
        ('ƁƊƘ', 'bdk'), ('Əliyev', 'eliyev'), ('ſ', 's'), ('ﬁ ﬂ', 'fi fl'), ('Ａｎｎａ', 'anna'), ('𝓐𝓷𝓷𝓪', 'anna'),
        ('Ⅷ', 'viii'), ('K' || e'\u212a', 'kk'),
        ('Анна Петрова', 'анна петрова'), ('Ёлкин', 'елкин'), ('Андрей', 'андреи'), ('ЇЖАК', 'іжак'),
        ('Γιώργος', 'γιωργοσ'), ('ΓΙΏΡΓΟΣ', 'γιωργοσ'), ('Արամ', 'արամ'), ('ᲥᲔᲗᲘ', 'ქეთი'),
        (e'\u05d3\u05b8\u05bc\u05d5\u05b4\u05d3', e'\u05d3\u05d5\u05d3'),
        (e'\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f', e'\u0645\u062d\u0645\u062f'),
        (e'\u0623\u062d\u0645\u062f', e'\u0627\u062d\u0645\u062f'), (e'\u0639\u0640\u0640\u0644\u0649',
        e'\u0639\u0644\u064a'),
        (e'\u0639\u0644\u06cc\u200c\u0631\u0636\u0627', e'\u0639\u0644\u064a\u0631\u0636\u0627'),
        ('がぎ', 'がぎ'), ('かき', 'かき'), ('ｶﾞ', 'ガ'), ('パパ', 'パパ'), ('김민준', '김민준'), (normalize('김민준', NFD), '김민준'),
        ('田中 太郎', '田中太郎'), ('田中　太郎', '田中太郎'), ('ジョン・スミス', 'ジョンスミス'),
        ('सुनील', 'सुनील'), ('สมชาย ใจดี', normalize('สมชาย ใจดี', NFKD)),
        ('Anne‑Marie', 'anne-marie'), ('Anne‐Marie–Claire—Eve−X', 'anne-marie-claire-eve-x'),
        ('O’Neill', 'o''neill'), ('O‘Neill', 'o''neill'), ('OʼNeill', 'o''neill'), ('O´Neill', 'o''neill'), ('O`Neill',
        'o''neill'),
        ('Ann' || e'\u200d\u00ad\ufeff' || 'a', 'anna'), ('Ann' || e'\ufe0f' || 'a', 'anna'), (null, null), ('',
        '')) as t (text, folded);
select is(app.spelled_out(text), spelled, format('"%s" may be spelled "%s"', text, spelled))
  from (values ('Müller', 'mueller'), ('JÖRG ÄRZTE', 'joerg aerzte'), (normalize('Müller', NFD), 'mueller'),
               ('Jørgensen', 'joergensen'), ('Åse', 'aase'), ('Muller', null), ('Đặng', null), (null,
               null)) as t (text, spelled);

create function pg_temp.finds(name text, query text) returns boolean language plpgsql as $$
begin
    update public.user_profiles set full_name = finds.name where id = tests.id('carol');
    return tests.as('alice', format('api.search_profiles(%L, 50)', query)) ~ tests.id('carol')::text;
end
$$;

-- A name is found by either spelling.
select ok(pg_temp.finds(name, query), format('%s is found by %s', name, query))
  from (values
        ('Анна Петрова', 'анна'), ('анна петрова', 'АННА'), ('Анна Петрова', 'Петрова Анна'), ('Анна Петрова', 'етров'),
        ('Анна Петрова', 'Перова'), ('Анна Петрова', 'Петровна'), ('Семён Ёлкин', 'елкин'), ('Семен Елкин', 'ёлкин'),
        ('Đặng Văn Hùng', 'Dang'), ('Đặng Văn Hùng', 'dang van hung'), ('Dang Van Hung', 'Đặng'),
        ('Müller', 'Mueller'), ('Müller', 'Muller'), ('Müller', 'MÜLLER'), ('Mueller', 'Müller'), ('Muller', 'Müller'),
        ('Thomas Müller', 'thomas mueller'), ('Thomas Mueller', 'Thomas Müller'), ('Jürgen Müller', 'juergen muller'),
        ('Jürgen Müller', 'jurgen mueller'), ('Sören Kierkegård', 'soeren'), ('Bjørn Åsen', 'bjoern aasen'),
        ('Łukasz Wałęsa', 'walesa'), ('Şükrü Işık', 'sukru isik'), ('SUKRU ISIK', 'şükrü ışık'), ('İlkay', 'ilkay'),
        ('ilkay', 'İLKAY'),
        ('Anne‑Marie', 'Anne-Marie'), ('Anne-Marie', 'Anne‑Marie'), ('Anne–Marie', 'anne-marie'), ('O’Neill',
        'O''Neill'),
        ('O''Neill', 'O’Neill'), ('Ａｎｎａ', 'anna'), ('Anna', 'Ａｎｎａ'), ('Γιώργος', 'γιωργος'), ('ΓΙΩΡΓΟΣ', 'Γιώργος'),
        ('김민준', '민준'), ('김민준', '김민'), ('김민준', '김 민준'), ('김 민준', '김민준'), ('남궁민수', '민수'), ('남궁민수', '궁민'),
        ('田中太郎', '太郎'), ('田中太郎', '田中'), ('田中太郎', '中太'), ('田中 太郎', '田中太郎'), ('田中太郎', '田中 太郎'),
        ('王小明', '小明'), ('欧阳娜娜', '娜娜'), ('やまだはなこ', 'はなこ'), ('アレクサンドル', 'クサンドル'), ('𠮷野家太郎', '太郎'),
        (e'\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f', e'\u0645\u062d\u0645\u062f'),
        (e'\u05d3\u05b8\u05bc\u05d5\u05b4\u05d3', e'\u05d3\u05d5\u05d3')) as t (name, query);
select ok(not pg_temp.finds(name, query), format('%s is not found by %s', name, query))
  from (values ('かかし', 'がが'), ('김민준', '서연'), ('田中太郎', '次郎'), ('Анна Петрова', 'Борис'), ('सुनील', 'सनल')) as t (name,
      query);
update public.user_profiles set full_name = 'Mueller' where id = tests.id('bob');
update public.user_profiles set full_name = 'Müller' where id = tests.id('carol');
select matches(tests.as('alice', 'api.search_profiles(''Müller'', 50)'),
    tests.id('carol') || '.*' || tests.id('bob'), 'ranks a name spelled like the query first');
select is(tests.field_of('alice', format('select api.search_profiles(%L)', query)), 'PL001 query',
    'rejects a query that is too short: ' || query)
  from unnest(array[e'\u200b\u200b\u200b', e'x\u0301\u0302', null]) query;

-- Bounds of the cost of a long name.
select is(cardinality(app.name_words(null, repeat('김', 100), null)), 6,
    'equal syllables produce one word per suffix length');
select ok((select max(char_length(w)) <= 100 and count(*) <= 100
             from unnest(app.name_words(null, (select string_agg(chr(44032 + i * 7), '') from generate_series(1,
             100) i), null)) w),
    'a name of a hundred syllables has at most a hundred words');
select lives_ok(format('update public.user_profiles set full_name = %L where id = tests.id(''carol'')', repeat(c, 100)),
    format('accepts a name of a hundred U+%s', upper(to_hex(ascii(c)))))
  from unnest(array[e'\ufdfa', e'\ufdfb', e'\u3316', '김', '龘', e'\u0644', e'\U0001f468', 'ß', 'ﬃ', '㎈']) c;

-- E10: usernames in any case of ASCII, whatever the locale.
select tests.owner();
update public.user_profiles set username = 'tap_iris' where id = tests.id('carol');
select is(tests.as('alice', format('api.profile_by_username(%L) ->> ''username''', name)), 'tap_iris',
    name || ' finds @tap_iris')
  from unnest(array['tap_iris', 'TAP_IRIS', ' Tap_Iris ']) name;
select is(tests.attempt('alice', format('select api.profile_by_username(%L)', name)), 'PL008',
    name || ' finds no user')
  from unnest(array['tap_b' || e'\u00f6' || 'b', e'\uff54ap_bob']) name;
select * from finish();
rollback;
