-- Words that the operator does not allow (sql/functions/app/filter.sql).
create table app.filter_rules (
    scope text not null,
    word text collate "C" not null,
    action text not null,
    created_at timestamptz not null default now(),
    primary key (scope, word),
    constraint filter_rules_scope_valid check (scope in ('messages', 'names', 'titles')),
    constraint filter_rules_action_valid check (action in ('refuse', 'mask'))
);
comment on table app.filter_rules is 'Words that messages, names or titles of groups may not have.';
comment on column app.filter_rules.word is 'As app.folded writes it, so that case and accents do not matter.';
comment on column app.filter_rules.action is 'refuse: an error; mask: asterisks take its place.';
alter table app.filter_rules enable row level security;
