-- URLs from users. One grammar for all (RFC 3986), within what `new URL` of browsers accepts.
--
--   https://HOST[:PORT][/PATH][?QUERY][#FRAGMENT]
--
-- The scheme is in any case. User and password are not allowed. HOST is a DNS name, whose labels have letters, digits
-- and hyphens, or letters of other scripts (RFC 5891), or an IPv4 address, or an IPv6 address in brackets; PORT is from
-- 1 to 65535. After the host are the characters of RFC 3986, and visible ones beyond ASCII (RFC 3987): no blanks,
-- controls, text directions or invisible characters. "%" begins two hexadecimal digits.

-- Returns what a label after "xn--" encodes (RFC 3492, 6.2), or null if it is invalid.
create or replace function app.punycode_decoded(encoded text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    digits constant text := 'abcdefghijklmnopqrstuvwxyz0123456789';
    tail text := coalesce(substring(encoded from '([^-]*)$'), '');
    output text := left(encoded, greatest(length(encoded) - length(tail) - 1, 0));
    code bigint := 128;
    place bigint := 0;
    bias integer := 72;
    before bigint;
    weight bigint;
    k integer;
    digit integer;
    threshold integer;
    delta bigint;
begin
    while tail <> '' loop
        before := place;
        weight := 1;
        k := 36;
        loop
            digit := strpos(digits, left(tail, 1)) - 1;
            if tail = '' or digit < 0 then
                return null;
            end if;
            tail := substr(tail, 2);
            place := place + digit * weight;
            threshold := least(greatest(k - bias, 1), 26);
            exit when digit < threshold;
            weight := weight * (36 - threshold);
            k := k + 36;
            -- More than 63 Unicode characters can encode.
            if place > 100000000 or weight > 100000000 then
                return null;
            end if;
        end loop;
        delta := (place - before) / case when before = 0 then 700 else 2 end;
        delta := delta + delta / (length(output) + 1);
        k := 0;
        while delta > 455 loop
            delta := delta / 35;
            k := k + 36;
        end loop;
        bias := k + 36 * delta / (delta + 38);
        code := code + place / (length(output) + 1);
        place := place % (length(output) + 1);
        if code > 1114111 or code between 55296 and 57343 then
            return null;
        end if;
        output := overlay(output placing chr(code::integer) from place::integer + 1 for 0);
        place := place + 1;
    end loop;
    return output;
end
$$;

-- Returns a label of a DNS name in lower case and decoded, or null if it is invalid. scripts/unicode-tables prints the
-- letters beyond ASCII, their capitals, and those that cannot begin a label.
create or replace function app.host_label(label text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    name text := lower(label collate "C");
begin
    if name !~ '^xn--' and name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' then
        return name;
    elsif name ~ '^xn--[a-z0-9-]{1,59}$' then
        -- Encoded labels have no capitals.
        name := app.punycode_decoded(substr(name, 5));
    else
        name := translate(name,
            'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞŸĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĴĶĹĻĽŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŹŻŽƂƄƇƋƑǶƘȠƠƢƤƧƬƯƳƵ'
            'ƸƼǷǍǏǑǓǕǗǙǛƎǞǠǢǤǦǨǪǬǮǴǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȢȤȦȨȪȬȮȰȲƁƆƉƊƏƐƓƔƗƖƜƝƟƦƩƮƱƲƷΆΈΉΊΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫΌΎΏϘϚϜ'
            'ϞϠАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӁӃӅӇӉӋӍӐӒӔӖӘ'
            'ӚӜӞӠӢӤӦӨӪӬӮӰӲӴӸԀԂԄԆԈԊԌԎԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘ'
            'ṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈ'
            'ὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾺῈῊῚῸῪῺᾸᾹῘῙῨῩῬ',
            'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżžƃƅƈƌƒƕƙƞơƣƥƨƭưƴƶ'
            'ƹƽƿǎǐǒǔǖǘǚǜǝǟǡǣǥǧǩǫǭǯǵǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟȣȥȧȩȫȭȯȱȳɓɔɖɗəɛɠɣɨɩɯɲɵʀʃʈʊʋʒάέήίαβγδεζηθικλμνξοπρστυφχψωϊϋόύώϙϛϝ'
            'ϟϡабвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӂӄӆӈӊӌӎӑӓӕӗә'
            'ӛӝӟӡӣӥӧөӫӭӯӱӳӵӹԁԃԅԇԉԋԍԏաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙ'
            'ṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀ'
            'ὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧὰὲὴὶὸὺὼᾰᾱῐῑῠῡῥ');
    end if;
    if char_length(name) < octet_length(name) and char_length(name) <= 63 and name is nfc normalized
       and name !~ '^-|-$|^..--'
       and name !~
            '^[\u0901-\u0903\u093c\u093e-\u094d\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09c4\u09c7-\u09c8\u09cb-\u09cd'
            '\u09d7\u09e2-\u09e3\u0a02\u0a3c\u0a3e-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a70-\u0a71\u0a81-\u0a83\u0abc'
            '\u0abe-\u0ac5\u0ac7-\u0ac9\u0acb-\u0acd\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0bd7\u0c01-\u0c03'
            '\u0c3e-\u0c44\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c82-\u0c83\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd'
            '\u0cd5-\u0cd6\u0d02-\u0d03\u0d3e-\u0d43\u0d46-\u0d48\u0d4a-\u0d4d\u0d57\u0d82-\u0d83\u0dca\u0dcf-\u0dd4'
            '\u0dd6\u0dd8-\u0ddf\u0df2-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0eb9\u0ebb-\u0ebc'
            '\u0ec8-\u0ecd]'
       and name ~
            '^[-a-z0-9'
            '\u00df-\u00f6\u00f8-\u00ff\u0101\u0103\u0105\u0107\u0109\u010b\u010d\u010f\u0111\u0113\u0115\u0117\u0119'
            '\u011b\u011d\u011f\u0121\u0123\u0125\u0127\u0129\u012b\u012d\u012f\u0131\u0135\u0137-\u0138\u013a\u013c'
            '\u013e\u0142\u0144\u0146\u0148\u014b\u014d\u014f\u0151\u0153\u0155\u0157\u0159\u015b\u015d\u015f\u0161'
            '\u0163\u0165\u0167\u0169\u016b\u016d\u016f\u0171\u0173\u0175\u0177\u017a\u017c\u017e\u0180\u0183\u0185'
            '\u0188\u018c-\u018d\u0192\u0195\u0199-\u019b\u019e\u01a1\u01a3\u01a5\u01a8\u01aa-\u01ab\u01ad\u01b0\u01b4'
            '\u01b6\u01b9-\u01bb\u01bd-\u01c3\u01ce\u01d0\u01d2\u01d4\u01d6\u01d8\u01da\u01dc-\u01dd\u01df\u01e1\u01e3'
            '\u01e5\u01e7\u01e9\u01eb\u01ed\u01ef-\u01f0\u01f5\u01f9\u01fb\u01fd\u01ff\u0201\u0203\u0205\u0207\u0209'
            '\u020b\u020d\u020f\u0211\u0213\u0215\u0217\u0219\u021b\u021d\u021f\u0223\u0225\u0227\u0229\u022b\u022d'
            '\u022f\u0231\u0233\u0250-\u02ad\u0390\u03ac-\u03ce\u03d7\u03d9\u03db\u03dd\u03df\u03e1\u03f3\u0430-\u045f'
            '\u0461\u0463\u0465\u0467\u0469\u046b\u046d\u046f\u0471\u0473\u0475\u0477\u0479\u047b\u047d\u047f\u0481'
            '\u048b\u048d\u048f\u0491\u0493\u0495\u0497\u0499\u049b\u049d\u049f\u04a1\u04a3\u04a5\u04a7\u04a9\u04ab'
            '\u04ad\u04af\u04b1\u04b3\u04b5\u04b7\u04b9\u04bb\u04bd\u04bf\u04c2\u04c4\u04c6\u04c8\u04ca\u04cc\u04ce'
            '\u04d1\u04d3\u04d5\u04d7\u04d9\u04db\u04dd\u04df\u04e1\u04e3\u04e5\u04e7\u04e9\u04eb\u04ed\u04ef\u04f1'
            '\u04f3\u04f5\u04f9\u0501\u0503\u0505\u0507\u0509\u050b\u050d\u050f\u0559\u0561-\u0586\u05d0-\u05ea'
            '\u05f0-\u05f2\u0621-\u063a\u0641-\u064a\u066e-\u066f\u0671-\u0674\u0679-\u06d3\u06d5\u06e5-\u06e6'
            '\u06fa-\u06fc\u0901-\u0903\u0905-\u0939\u093c-\u094d\u0950\u0960-\u0963\u0981-\u0983\u0985-\u098c'
            '\u098f-\u0990\u0993-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9\u09bc\u09be-\u09c4\u09c7-\u09c8\u09cb-\u09cd'
            '\u09d7\u09e0-\u09e3\u09f0-\u09f1\u0a02\u0a05-\u0a0a\u0a0f-\u0a10\u0a13-\u0a28\u0a2a-\u0a30\u0a32\u0a35'
            '\u0a38-\u0a39\u0a3c\u0a3e-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a5c\u0a70-\u0a74\u0a81-\u0a83\u0a85-\u0a8b'
            '\u0a8d\u0a8f-\u0a91\u0a93-\u0aa8\u0aaa-\u0ab0\u0ab2-\u0ab3\u0ab5-\u0ab9\u0abc-\u0ac5\u0ac7-\u0ac9'
            '\u0acb-\u0acd\u0ad0\u0ae0\u0b82-\u0b83\u0b85-\u0b8a\u0b8e-\u0b90\u0b92-\u0b95\u0b99-\u0b9a\u0b9c'
            '\u0b9e-\u0b9f\u0ba3-\u0ba4\u0ba8-\u0baa\u0bae-\u0bb5\u0bb7-\u0bb9\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd'
            '\u0bd7\u0c01-\u0c03\u0c05-\u0c0c\u0c0e-\u0c10\u0c12-\u0c28\u0c2a-\u0c33\u0c35-\u0c39\u0c3e-\u0c44'
            '\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c60-\u0c61\u0c82-\u0c83\u0c85-\u0c8c\u0c8e-\u0c90\u0c92-\u0ca8'
            '\u0caa-\u0cb3\u0cb5-\u0cb9\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd\u0cd5-\u0cd6\u0cde\u0ce0-\u0ce1'
            '\u0d02-\u0d03\u0d05-\u0d0c\u0d0e-\u0d10\u0d12-\u0d28\u0d2a-\u0d39\u0d3e-\u0d43\u0d46-\u0d48\u0d4a-\u0d4d'
            '\u0d57\u0d60-\u0d61\u0d82-\u0d83\u0d85-\u0d96\u0d9a-\u0db1\u0db3-\u0dbb\u0dbd\u0dc0-\u0dc6\u0dca'
            '\u0dcf-\u0dd4\u0dd6\u0dd8-\u0ddf\u0df2-\u0df3\u0e01-\u0e32\u0e34-\u0e3a\u0e40-\u0e4e\u0e81-\u0e82\u0e84'
            '\u0e87-\u0e88\u0e8a\u0e8d\u0e94-\u0e97\u0e99-\u0e9f\u0ea1-\u0ea3\u0ea5\u0ea7\u0eaa-\u0eab\u0ead-\u0eb2'
            '\u0eb4-\u0eb9\u0ebb-\u0ebd\u0ec0-\u0ec4\u0ec6\u0ec8-\u0ecd\u10d0-\u10f8\u1200-\u1206\u1208-\u1246\u1248'
            '\u124a-\u124d\u1250-\u1256\u1258\u125a-\u125d\u1260-\u1286\u1288\u128a-\u128d\u1290-\u12ae\u12b0'
            '\u12b2-\u12b5\u12b8-\u12be\u12c0\u12c2-\u12c5\u12c8-\u12ce\u12d0-\u12d6\u12d8-\u12ee\u12f0-\u130e\u1310'
            '\u1312-\u1315\u1318-\u131e\u1320-\u1346\u1348-\u135a\u1e01\u1e03\u1e05\u1e07\u1e09\u1e0b\u1e0d\u1e0f\u1e11'
            '\u1e13\u1e15\u1e17\u1e19\u1e1b\u1e1d\u1e1f\u1e21\u1e23\u1e25\u1e27\u1e29\u1e2b\u1e2d\u1e2f\u1e31\u1e33'
            '\u1e35\u1e37\u1e39\u1e3b\u1e3d\u1e3f\u1e41\u1e43\u1e45\u1e47\u1e49\u1e4b\u1e4d\u1e4f\u1e51\u1e53\u1e55'
            '\u1e57\u1e59\u1e5b\u1e5d\u1e5f\u1e61\u1e63\u1e65\u1e67\u1e69\u1e6b\u1e6d\u1e6f\u1e71\u1e73\u1e75\u1e77'
            '\u1e79\u1e7b\u1e7d\u1e7f\u1e81\u1e83\u1e85\u1e87\u1e89\u1e8b\u1e8d\u1e8f\u1e91\u1e93\u1e95-\u1e99\u1ea1'
            '\u1ea3\u1ea5\u1ea7\u1ea9\u1eab\u1ead\u1eaf\u1eb1\u1eb3\u1eb5\u1eb7\u1eb9\u1ebb\u1ebd\u1ebf\u1ec1\u1ec3'
            '\u1ec5\u1ec7\u1ec9\u1ecb\u1ecd\u1ecf\u1ed1\u1ed3\u1ed5\u1ed7\u1ed9\u1edb\u1edd\u1edf\u1ee1\u1ee3\u1ee5'
            '\u1ee7\u1ee9\u1eeb\u1eed\u1eef\u1ef1\u1ef3\u1ef5\u1ef7\u1ef9\u1f00-\u1f07\u1f10-\u1f15\u1f20-\u1f27'
            '\u1f30-\u1f37\u1f40-\u1f45\u1f50-\u1f57\u1f60-\u1f67\u1f70\u1f72\u1f74\u1f76\u1f78\u1f7a\u1f7c'
            '\u1fb0-\u1fb1\u1fb6\u1fc6\u1fd0-\u1fd2\u1fd6-\u1fd7\u1fe0-\u1fe2\u1fe4-\u1fe7\u1ff6\u3005\u303b'
            '\u3041-\u3096\u309d-\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\u3400-\u4db5\u4e00-\u9fa5\uac00-\ud7a3'
            '\ufa0e-\ufa0f\ufa11\ufa13-\ufa14\ufa1f\ufa21\ufa23-\ufa24\ufa27-\ufa29\ufe73\U00020000-\U0002a6d6]+$' then
        return name;
    end if;
    return null;
end
$$;

-- Returns true for a valid host: a DNS name, an IPv4 address, or an IPv6 address in brackets.
create or replace function app.is_host(host text) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    byte constant text := '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
    ipv4 constant text := byte || '(\.' || byte || '){3}';
    address text;
    labels text[];
begin
    if host ~ '^\[' then
        -- The last 32 bits may be written as an IPv4 address. "::" replaces one group or more.
        address := regexp_replace(substring(host from '^\[([0-9A-Fa-f:.]*)\]$'), '(:)' || ipv4 || '$', '\10:0');
        return coalesce(
            address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
            or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$'
               and regexp_count(address, '[0-9A-Fa-f]+') <= 7, false);
    end if;
    -- A host that ends with a number is an IPv4 address.
    if host ~ '(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)\.?$' then
        return host ~ ('^' || ipv4 || '$');
    end if;
    labels := array(select app.host_label(l) from regexp_split_to_table(regexp_replace(host, '\.$', ''), '\.') as l);
    return octet_length(host) between 1 and 254 and array_position(labels, null) is null
       -- Next to a right-to-left label (RFC 5893) every label begins with a letter, and none mixes letters of both
       -- directions.
       and (array_to_string(labels, '.') !~ '[\u0590-\u08ff]'
            or not exists (select from unnest(labels) as l
                            where l !~ ('^([\u0590-\u08ff][\u0590-\u08ff0-9-]*|'
                                        '[^\u0590-\u08ff0-9-][^\u0590-\u08ff]*)$')));
end
$$;

-- Returns true for an https URL of at most 2,048 bytes. JSON escapes none of its characters, so it has the same length
-- in a response.
create or replace function app.is_https(value text) returns boolean
language plpgsql strict immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    parts text[];
begin
    if octet_length(value) > 2048 then
        return false;
    end if;
    parts := regexp_match(value,
        '^[Hh][Tt][Tt][Pp][Ss]://(\[[^][/?#@]*\]|[^][/?#@:%]+)(?::([0-9]{1,5}))?([/?#].*)?$');
    return coalesce(
        app.is_host(parts[1]) and coalesce(parts[2]::integer between 1 and 65535, true)
        and coalesce(
            parts[3] ~ ('^(/([A-Za-z0-9._~!$&''()*+,;=:@/-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?'
                        '(\?([A-Za-z0-9._~!$&''()*+,;=:@/?-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?'
                        '(#([A-Za-z0-9._~!$&''()*+,;=:@/?-]|[^\u0001-\u007f]|%[0-9A-Fa-f]{2})*)?$')
            and parts[3] !~ app.invisible_characters(), true), false);
end
$$;

-- Returns a URL as profiles store it: trimmed, with the scheme in lower case.
create or replace function app.stored_url(value text) returns text
language sql immutable parallel safe
begin atomic
    select pg_catalog.regexp_replace(pg_catalog.btrim(value), '^[Hh][Tt][Tt][Pp][Ss]:', 'https:');
end;
