-- The coloured circles that apps have, beside the animals. A team that has one of its own under such an id keeps it.
insert into public.built_in_avatars (id, name, color, "position") values
    ('blue_circle', 'Blue circle', '#007aff', 13),
    ('red_circle', 'Red circle', '#ff3b30', 14),
    ('green_circle', 'Green circle', '#34c759', 15),
    ('orange_circle', 'Orange circle', '#ff9500', 16),
    ('yellow_circle', 'Yellow circle', '#ffcc00', 17),
    ('purple_circle', 'Purple circle', '#af52de', 18),
    ('pink_circle', 'Pink circle', '#ff2d55', 19),
    ('teal_circle', 'Teal circle', '#30b0c7', 20),
    ('brown_circle', 'Brown circle', '#a2845e', 21),
    ('gray_circle', 'Gray circle', '#8e8e93', 22),
    ('black_circle', 'Black circle', '#000000', 23),
    ('white_circle', 'White circle', '#ffffff', 24)
on conflict (id) do nothing;
