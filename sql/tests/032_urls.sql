-- A8, F7, E28: the URLs that profiles and messages accept. A browser test passes every accepted one to `new URL`.
begin;
select no_plan();
select tests.make_world();

select ok(app.is_https(url), 'accepted: ' || url) from unnest(array[
    -- accepted
    'https://example.com',
    'https://example.com/',
    'https://example.com/a/b.png?x=1&y=2#top',
    'Https://example.com/a',
    'HTTPS://EXAMPLE.COM/A',
    'hTTps://Example.Com',
    'https://a',
    'https://localhost:8443/x',
    'https://a-b.example',
    'https://r3---sn-4g5e.example.com/v',
    'https://1.example.com',
    'https://123abc.example',
    'https://example.com.',
    'https://example.com:1',
    'https://example.com:443/',
    'https://example.com:00443/',
    'https://example.com:65535?q',
    'https://example.com?q',
    'https://example.com#f',
    'https://example.com//double//slash',
    'https://example.com/a@b:c',
    'https://example.com/?next=https://other.example/x?y',
    'https://example.com/%20%C3%A9%ff',
    'https://example.com/!$&''()*+,;=:@-._~',
    'https://example.com/é/日本語/🎉',
    'https://example.com/?q=é#ü',
    'https://192.0.2.1',
    'https://0.0.0.0/x',
    'https://255.255.255.255:8080/x',
    'https://[::1]',
    'https://[::]/x',
    'https://[2001:db8::1]:8443/x',
    'https://[2001:DB8:0:0:8:800:200C:417A]/',
    'https://[1:2:3:4:5:6:7:8]',
    'https://[1:2:3:4:5:6:7::]',
    'https://[::2:3:4:5:6:7:8]',
    'https://[::ffff:192.0.2.1]/',
    'https://[64:ff9b::192.0.2.33]/',
    'https://[1:2:3:4:5:6:192.0.2.1]/',
    'https://xn--mnchen-3ya.example/x',
    'https://XN--MNCHEN-3YA.example/x',
    'https://xn--fiqs8s/x',
    'https://xn--bcher-kva.example',
    'https://xn--4gbwdl.xn--wgbh1c/',
    'https://xn--11b4c3d.xn--h2brj9c/',
    'https://münchen.example/straße',
    'https://straße.example/',
    'https://bücher.example:8080/',
    'https://例え.テスト/',
    'https://中国.中国/',
    'https://한국.example/',
    'https://россия.рф/',
    'https://ελλάδα.gr/',
    'https://भारत.भारत/',
    'https://ไทย.ไทย/',
    'https://موقع.مصر/',
    'https://אתר.example.com/',
    'https://א1.example',
    'https://אתר-2.example/',
    'https://MÜNCHEN.example/',
    'https://ΑΘΉΝΑ.gr/',
    'https://РОССИЯ.РФ/x',
    'https://𠀀.example/',
    'https://xn--j50i.example/',
    'https://a.b.c.d.e.f.g.h.i.j/',
    'https://' || repeat('a', 63) || '.example/',
    'https://' || repeat('a', 63) || '.' || repeat('b', 63) || '.' || repeat('c', 63) || '.' || repeat('d', 61) || '/',
    'https://example.com/' || repeat('a', 2028),
    'https://example.com/' || repeat('é', 1014)
    -- end
]) url;

select ok(not app.is_https(url), 'refused: ' || url) from unnest(array[
    '', ' ', 'https', 'https:', 'https:/', 'https://', 'https:///x', 'https:example.com', 'https:/example.com',
    'https:\\example.com', 'http://example.com', 'ftp://example.com', 'javascript:alert(1)', 'data:text/html,x',
    ' https://example.com', 'https://example.com ', e'https://example.com\n', e'https://exa\tmple.com', '//example.com',
    'https ://example.com', 'httpss://example.com', 'https://?x', 'https://#x', 'https://:443', 'https://@/',
    -- Ports.
    'https://a:99999/x', 'https://a:0/', 'https://a:00000', 'https://a:65536', 'https://a:-1', 'https://a:x',
        'https://a:',
    'https://a:/x', 'https://a:80:80', 'https://a:8 0', 'https://a:000443', 'https://a:٤٤٣/',
    -- Hosts.
    'https://[/x', 'https://[::1', 'https://::1]/', 'https://[]/', 'https://[::1]x/', 'https://[::1]:/',
        'https://[:::1]',
    'https://[1::2::3]', 'https://[1:2:3:4:5:6:7]', 'https://[1:2:3:4:5:6:7:8:9]', 'https://[1:2:3:4:5:6:7:8::]',
    'https://[12345::]', 'https://[g::]', 'https://[fe80::1%25eth0]', 'https://[v1.x]', 'https://[::1.2.3.256]',
    'https://[::1.2.3]', 'https://[1.2.3.4]', 'https://[::1.2.3.4:5]', 'https://[1:2:3:4:5:6:7:1.2.3.4]',
    'https://%00/x', 'https://%', 'https://%41.example', 'https://ex%61mple.com',
    'https://1.2.3.4.5/x', 'https://1.2.3', 'https://1', 'https://256.1.1.1', 'https://1.2.3.04', 'https://0x7f.1',
    'https://a.0x1', 'https://a.1', 'https://1.2.3.4.', 'https://example.0', 'https://0x', 'https://4294967296',
    'https://..', 'https://.', 'https://a..b', 'https://.a', 'https://a..', 'https://-a.example', 'https://a-.example',
    'https://-', 'https://a_b.example', 'https://a,b', 'https://a b', 'https://a+b', 'https://a!b', 'https://a*b',
    'https://' || repeat('a', 64) || '.example', 'https://' || repeat('a.', 127) || 'aa',
    'https://user@example.com', 'https://user:pw@example.com/', 'https://example.com@evil.example/', 'https://:@a/',
    'https://xn--/x', 'https://xn--', 'https://xn--a', 'https://a.xn--', 'https://xn--.example', 'https://xn--abc-',
    'https://xn--zzzzzzzzzzzz', 'https://xn--99999999', 'https://xn---', 'https://xn--a-', 'https://xn--ls8h.la',
    e'https://xn--\u00fc',
    'https://xn--mnchen-3ya-.example', 'https://XN--', 'https://ab--ü.example', 'https://🎉.example',
    'https://a' || e'\u202e' || 'b', 'https://' || e'\u0084', 'https://a' || e'\u00ad' || 'b',
        'https://a' || e'\u200b' || 'b',
    'https://a' || e'\u200d' || 'b', 'https://' || e'\u0301' || 'a', 'https://' || e'\uff41',
        'https://a' || e'\u3002' || 'b',
    'https://aאb.example', 'https://1.אתר', 'https://א1b.example', 'https://İ.example', 'https://xn--mnchen-3yaÜ',
    'https://' || e'\u093e' || 'x',
    normalize('https://münchen.example', NFD), 'https://a<b/x', 'https://a>b', 'https://a"b', 'https://a{b}',
        'https://a|b',
    'https://a\b', 'https://a^b', 'https://a`b',
    -- The parts after the host.
    'https://a/<', 'https://a/>', 'https://a/"', 'https://a/{', 'https://a/}', 'https://a/|', 'https://a/\',
        'https://a/^',
    'https://a/`', 'https://a/[', 'https://a/?x[]=1', 'https://a/#a#b', 'https://a/%', 'https://a/%1', 'https://a/%zz',
    'https://a/?%', 'https://a/#%g0', 'https://a/x y', e'https://a/\u0001', e'https://a/\u007f', e'https://a/\u0085',
    e'https://a/\u009f', e'https://a/\u00a0', e'https://a/\u200e', e'https://a/\u200f', e'https://a/?\u202a',
        e'https://a/#\u202e',
    e'https://a/\u2066', e'https://a/\u2069', e'https://a/\u061c', e'https://a/\u2028', e'https://a/\u3000',
        e'https://a/\ufeff',
    e'https://a/\ufffd', e'https://a/\uffff', e'https://a/\ue000', e'https://a/\U000e0041', e'https://a/\u00ad',
        e'https://a/\u2800',
    'https://example.com/' || repeat('a', 2029), 'https://example.com/' || repeat('é', 1015)
]) url;
select is(app.is_https(null), null, 'returns null for a null URL');

-- Every field with a URL.
select is(tests.as('alice', 'api.update_me(''{"website":"HTTPS://Example.com/A"}'') ->> ''website'''),
    'https://Example.com/A',
    'stores the scheme of a website in lower case');
select is(tests.as('alice', 'api.set_avatar(''custom'', null, ''Https://example.com/a'') ->> ''avatar_url'''),
    'https://example.com/a', 'stores the scheme of an avatar in lower case');
select lives_ok(format('select tests.as(''alice'', %L)', format('api.send_message(%L, null, null, ''image'', %L)',
    tests.id('group'), '{"url":"Https://example.com/a"}')), 'accepts an attachment with a scheme in any case');
select is(tests.field_of('alice', format('select api.update_me(%L)', json_build_object('website', url))),
    'PL001 website',
    'rejects as a website: ' || url) from unnest(array['https://a:99999/x', 'https://xn--/x', 'https://a<b/x']) url;
select is(tests.field_of('alice', format('select api.set_avatar(''custom'', null, %L)', url)), 'PL001 avatar_url',
    'rejects as an avatar: ' || url) from unnest(array['https://[/x', 'https://%00/x', 'https://1.2.3.4.5/x']) url;
select is(tests.field_of('alice', format('select api.send_message(%L, null, null, ''image'', %L)', tests.id('group'),
        json_build_object('url', url))), 'PL001 attachment', 'rejects as an attachment: ' || url)
  from unnest(array['https://a:99999/x', 'https://[::1', e'https://a\u202eb']) url;
select ok(app.is_media_url(url || '/9f3c/' || tests.id('alice'), tests.id('alice')),
    'accepts as a picture''s own URL: ' || url)
  from unnest(array['http://127.0.0.1:7433', 'https://media.example', 'http://[::1]:7433']) url;
select ok(not app.is_media_url(url || '/' || tests.id('alice'), tests.id('alice')),
    'rejects as a picture''s own URL: ' || url)
  from unnest(array['http://a:99999', 'ftp://a', 'http://[::1']) url;
select * from finish();
rollback;
