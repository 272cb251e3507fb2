-- Names are compared in a folded form, which is the same in every database: no rule of a locale has a part in it. The
-- folded names and their words are stored, so that a search folds nothing but its query. The tables of characters are
-- printed by scripts/unicode-tables; a change of these functions is a migration that fills app.search_names anew.

-- Returns a text as names are compared: compatibility characters decomposed, without accents, points and characters of
-- no width, in small letters, with ASCII dashes and apostrophes. `Đặng` is "dang", `Straße` "strasse", `Ёлкин` "елкин".
create function app.folded(value text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    folded text := value;
begin
    if octet_length(value) > char_length(value) then
        -- Before it is decomposed: into a blank and an accent.
        folded := normalize(replace(folded, '´', ''''), NFKD);
        folded := regexp_replace(folded,
            '[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u061c'
            '\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a'
            '\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f'
            '\u08ca-\u08e1\u08e3-\u08ff\u0951-\u0954\u09fe\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f82-\u0f83\u0f86-\u0f87'
            '\u0fc6\u108d\u115f-\u1160\u135d-\u135f\u17b4-\u17b5\u17dd\u180b-\u180f\u18a9\u1939-\u193b\u1a17-\u1a18'
            '\u1a75-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b6b-\u1b73\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced'
            '\u1cf4\u1cf8-\u1cf9\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20dc\u20e1\u20e5-\u20f0'
            '\u2cef-\u2cf1\u2de0-\u2dff\u302a-\u302f\u3164\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua8e0-\ua8f1'
            '\ua92b-\ua92d\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\ufeff'
            '\uffa0\ufff0-\ufff8\U000101fd\U000102e0\U00010376-\U0001037a\U00010a0d\U00010a0f\U00010a38-\U00010a3a'
            '\U00010ae5-\U00010ae6\U00010d24-\U00010d27\U00010eab-\U00010eac\U00010f46-\U00010f50\U00010f82-\U00010f85'
            '\U00011100-\U00011102\U00011366-\U0001136c\U00011370-\U00011374\U0001145e\U00016af0-\U00016af4'
            '\U00016b30-\U00016b36\U0001bc9e\U0001bca0-\U0001bca3\U0001d165-\U0001d169\U0001d16d-\U0001d182'
            '\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018'
            '\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae'
            '\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e949\U000e0000-\U000e0fff]+', '', 'g');
        folded := translate(folded,
            e''
            '`·ÆÐØÞðøĐđĦħıĸŁłŊŋŒŦŧƀƁƂƃƄƆƇƈƉƊƋƌƎƏƐƑƒƓƔƖƗƘƙƚƜƝƞƟƢƤƥƦƧƩƫƬƭƮƱƲƳƴƵƶƷƸƼǤǥǶǷȜȠȡȢȤȥȴȵȶȷȺȻȼȽȾȿɀɁɃɄɅɆɇɈɉɊɋɌɍɎɏɓɔɕ'
            'ɖɗəɛɟɠɡɦɨɫɬɭɱɲɳɼɽɾʂʃʄʈʋʐʑʒʝʠʹʻʼʽʾʿͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПР'
            'СТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹ'
            'ԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ֊\u05be\u05f3\u05f4\u0629\u0649\u0671\u06a9\u06be\u06c1\u06ccႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯ'
            'ႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᏸᏹᏺᏻᏼᏽ᐀᠆ᲀᲁᲂᲃᲄᲅᲆᲇᲈᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿᵬᵭᵮᵯᵰᵱᵲᵳᵴᵵᵶᵹᵽᶀᶁᶂᶃᶄᶅ'
            'ᶆᶇᶈᶉᶊᶌᶍᶎᶏᶑᶒᶓᶖᶗᶙẜẝẞỺỼỾỿ‐‒–—―‘’‛“”„‟‧′ℲↃ−ⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱡⱢⱣⱤⱥⱦⱧⱨⱩⱪⱫⱬⱭⱮⱯⱰⱱⱲ'
            'ⱳⱴⱵⱸⱺⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲ⸗⸚⸺⸻⹀⹝〜〰゠・ꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘ'
            'ꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝁꝂꝃꝄꝅꝆꝇꝈꝉꝊꝋꝌꝍꝎꝐꝑꝒꝓꝔꝕꝖꝗꝘꝙꝚꝜꝞꝟꝠꝢꝤꝦꝨꝪꝬꝮꝹꝺꝻꝼꝽꝾꞀꞂꞃꞄꞅꞆꞇꞋꞍꞎꞐꞑꞒꞓꞔꞕꞖꞗꞘꞙꞚꞜꞞꞠꞡꞢꞣꞤꞥꞦꞧꞨꞩꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞹꞺꞼ'
            'ꞾꟀꟂꟄꟅꟆꟇꟈꟉꟊꟐꟖꟘꟵꬴꬶꬷꬸꬹꬺꬻꬿꭉꭋꭌꭎꭒꭖꭗꭘꭙꭚꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹ'
            'ꮺꮻꮼꮽꮾꮿ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈'
            '𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕\U00010c80\U00010c81\U00010c82\U00010c83\U00010c84\U00010c85\U00010c86\U00010c87\U00010c88'
            '\U00010c89\U00010c8a\U00010c8b\U00010c8c\U00010c8d\U00010c8e\U00010c8f\U00010c90\U00010c91\U00010c92'
            '\U00010c93\U00010c94\U00010c95\U00010c96\U00010c97\U00010c98\U00010c99\U00010c9a\U00010c9b\U00010c9c'
            '\U00010c9d\U00010c9e\U00010c9f\U00010ca0\U00010ca1\U00010ca2\U00010ca3\U00010ca4\U00010ca5\U00010ca6'
            '\U00010ca7\U00010ca8\U00010ca9\U00010caa\U00010cab\U00010cac\U00010cad\U00010cae\U00010caf\U00010cb0'
            '\U00010cb1\U00010cb2𐵮\U00010ead𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𝼉𝼑𝼓𝼖𝼚𝼛𝼝𝼞'
            '\U0001e900\U0001e901\U0001e902\U0001e903\U0001e904\U0001e905\U0001e906\U0001e907\U0001e908\U0001e909'
            '\U0001e90a\U0001e90b\U0001e90c\U0001e90d\U0001e90e\U0001e90f\U0001e910\U0001e911\U0001e912\U0001e913'
            '\U0001e914\U0001e915\U0001e916\U0001e917\U0001e918\U0001e919\U0001e91a\U0001e91b\U0001e91c\U0001e91d'
            '\U0001e91e\U0001e91f\U0001e920\U0001e921',
            e''
            ''' ædoþdoddhhiqllnnœttbbbbƅoccddddǝeeffgɣɩikklɯnnɵƣppʀƨsttttʊvyyzzzƹƽggƕƿȝndȣzzlntjaccltszɂbʉʌeejjqqrryybo'
            'cddeejgghilllmnnrrrssjtvzzzjq''''''''''''ͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽђєѕіјљњћџабвгдежзи'
            'клмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբ'
            'գդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ--''"\u0647\u064a\u0627\u0643\u0647\u0647\u064aⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖ'
            'ⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭᏰᏱᏲᏳᏴᏵ--вдосттъѣꙋაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿbdfmnprrstzgpbdfgklmnprsvx'
            'zadeeioussßỻỽyy-----''''''"""" ''ⅎↄ-ⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟlllprathhkkzzɑmɐɒvwwvⱶ'
            'eoszⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳ--------- ꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥ'
            'ꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿkkkkkkllllooooꝏppppppqqqqꝛꝝvvꝡꝣꝥꝧꝩꝫꝭꝯddffgꝿꞁrrssttꞌɥlnnccchbbffꞛꞝꞟggkknnrrsshɜglɪʞʇjꭓꞵꞷuuꞻꞽꞿꟁꟃ'
            'cszddssꟑꟗꟙꟶeglllmnorrruuxxxxyᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬ'
            'ᏭᏮᏯ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳'
            '𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼\U00010cc0\U00010cc1\U00010cc2\U00010cc3\U00010cc4\U00010cc5\U00010cc6\U00010cc7\U00010cc8'
            '\U00010cc9\U00010cca\U00010ccb\U00010ccc\U00010ccd\U00010cce\U00010ccf\U00010cd0\U00010cd1\U00010cd2'
            '\U00010cd3\U00010cd4\U00010cd5\U00010cd6\U00010cd7\U00010cd8\U00010cd9\U00010cda\U00010cdb\U00010cdc'
            '\U00010cdd\U00010cde\U00010cdf\U00010ce0\U00010ce1\U00010ce2\U00010ce3\U00010ce4\U00010ce5\U00010ce6'
            '\U00010ce7\U00010ce8\U00010ce9\U00010cea\U00010ceb\U00010cec\U00010ced\U00010cee\U00010cef\U00010cf0'
            '\U00010cf1\U00010cf2--𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿tllriocs\U0001e922'
            '\U0001e923\U0001e924\U0001e925\U0001e926\U0001e927\U0001e928\U0001e929\U0001e92a\U0001e92b\U0001e92c'
            '\U0001e92d\U0001e92e\U0001e92f\U0001e930\U0001e931\U0001e932\U0001e933\U0001e934\U0001e935\U0001e936'
            '\U0001e937\U0001e938\U0001e939\U0001e93a\U0001e93b\U0001e93c\U0001e93d\U0001e93e\U0001e93f\U0001e940'
            '\U0001e941\U0001e942\U0001e943');
        folded := replace(replace(replace(replace(folded, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        -- Syllables of Hangul and voiced kana become one character again.
        folded := normalize(folded, NFC);
        -- A family name and a given name of East Asia are written with a blank between them, or without.
        folded := regexp_replace(folded,
            '(?<=[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]) +(?=[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff])', '', 'g');
    end if;
    folded := regexp_replace(replace(folded, '`', ''''), '[\u0001-\u0020\u007f-\u00a0]+', ' ', 'g');
    return btrim(lower(folded collate "C"));
end
$$;

-- Returns a text folded with `ä` as "ae" and the like, as names are spelled where a keyboard lacks the letter; null
-- for a text without such a letter.
create function app.spelled_out(value text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    small text := translate(normalize(value, NFC), 'ÄÖÜØÅ', 'äöüøå');
begin
    if small ~ '[äöüøå]' then
        return app.folded(replace(replace(replace(replace(replace(
            small, 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'ø', 'oe'), 'å', 'aa'));
    end if;
    return null;
end
$$;

-- Returns the words of a folded text, of two characters or more. Blanks, digits and punctuation part them.
create function app.words_of(folded text) returns text[]
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return array(
        select distinct w collate "C"
          from regexp_split_to_table(
              folded, '[\u0001-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3020]+') as w
         where char_length(w) > 1
         order by w collate "C");
end
$$;

-- Returns the words by which a user is found: those of the folded username and name, and of the name as spelled out.
-- In Han, kana and Hangul, where no blank parts a given name from a family name, also what begins at each character.
drop index app.search_names_words;
drop function app.name_words(text, text);
create function app.name_words(username text, full_name text, spelled_out text) returns text[]
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := app.words_of(concat_ws(' ', username, full_name, spelled_out));
begin
    if array_to_string(words, '') !~ '[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]' then
        return words;
    end if;
    return array(
        select unnest(words) collate "C" as w
        union
        -- Six characters tell a given name from others, and bound what a long name costs.
        select substr(word, i, 6) collate "C"
          from unnest(words) as word, generate_series(2, char_length(word) - 1) as i
         where substr(word, i, 1) ~ '[々-ヿ㐀-鿿가-힣\U00020000-\U0003ffff]'
         order by w);
end
$$;

-- Nobody changes a name between what is copied and what follows it from then on.
lock table public.user_profiles in share row exclusive mode;
drop index app.search_names_username_start, app.search_names_full_name_start, app.search_names_likeness;
delete from app.search_names;
alter table app.search_names
    alter column username type text collate "C", alter column full_name type text collate "C",
    add column spelled_out text collate "C", add column words text[] not null;
comment on table app.search_names is 'The folded names of those who can be found: all but guests and the deleted.';
comment on column app.search_names.spelled_out is 'The name folded with "ae" for "ä" and the like, where that differs.';

-- A folded name is cut to 100 characters: a single one may be decomposed into eighteen, and an index entry has a bound.
insert into app.search_names (user_id, username, full_name, spelled_out, words)
select p.id, p.username, f.full_name, f.spelled_out, app.name_words(p.username, f.full_name, f.spelled_out)
  from public.user_profiles p
 cross join lateral (select left(app.folded(p.full_name), 100) as full_name,
                            left(app.spelled_out(p.full_name), 100) as spelled_out offset 0) f
 where not p.is_guest and not p.is_deleted;
delete from app.words;
insert into app.words (word) select distinct w from app.search_names s, unnest(s.words) as w;

create index search_names_username_start on app.search_names (username);
create index search_names_full_name_start on app.search_names (full_name);
create index search_names_spelled_out_start on app.search_names (spelled_out) where spelled_out is not null;
-- Without fastupdate: a search would read all of the pending list.
create index search_names_words on app.search_names using gin (words) with (fastupdate = off);
do $$
begin
    execute format('create index search_names_likeness on app.search_names
                    using gin (username %1$I.gin_trgm_ops, full_name %1$I.gin_trgm_ops, spelled_out %1$I.gin_trgm_ops)
                    with (fastupdate = off)',
        (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
          where e.extname = 'pg_trgm'));
end
$$;

-- As in functions/app/words.sql from here on: names are followed before anybody can change one again.
create or replace function app.follow_words() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := '{}';
    former text[] := coalesce((select s.words from app.search_names s where s.user_id = new.id), '{}');
    former_word text;
    person public.user_profiles;
    name text;
    spelled text;
begin
    if tg_op = 'UPDATE' and row(new.username, new.full_name, new.is_guest, new.is_deleted)
                            is not distinct from row(old.username, old.full_name, old.is_guest, old.is_deleted) then
        return null;
    end if;
    -- As it is now: another trigger may have changed the row again before this one's turn.
    select * into person from public.user_profiles p where p.id = new.id;
    if not person.is_guest and not person.is_deleted then
        -- A single character may be decomposed into eighteen, and an index entry has a bound.
        name := left(app.folded(person.full_name), 100);
        spelled := left(app.spelled_out(person.full_name), 100);
        words := app.name_words(person.username, name, spelled);
        insert into app.search_names as s (user_id, username, full_name, spelled_out, words)
        values (person.id, person.username, name, spelled, words)
        on conflict (user_id) do update
           set username = excluded.username, full_name = excluded.full_name, spelled_out = excluded.spelled_out,
               words = excluded.words;
    else
        delete from app.search_names s where s.user_id = new.id;
    end if;
    insert into app.words (word)
    select w from unnest(words) as w where w <> all (former) order by w
    on conflict do nothing;
    foreach former_word in array former loop
        if former_word <> all (words) and not app.is_name_word(former_word) then
            delete from app.words o where o.word = former_word;
        end if;
    end loop;
    return null;
end
$$;

-- Returns whether a name has that word. By the inverted index: to the planner a walk over all users looks shorter.
create or replace function app.is_name_word(word text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_indexscan = off as $$
begin
    return exists (select from app.search_names s where s.words @> array[is_name_word.word]);
end
$$;
