# The toolchain, and what Postline is compiled against.
FROM swift:6.3-bookworm AS toolchain
RUN apt-get update \
    && apt-get install -y --no-install-recommends libargon2-dev libcrypt-dev libcurl4-openssl-dev libpq-dev \
        pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src

# The build folder stays between builds, so that only what changed is compiled; the tests below find in it what the
# program was made of. Of the symbols the names stay, for backtraces.
FROM toolchain AS build
COPY Package.swift ./
COPY Plugins Plugins
COPY Sources Sources
COPY clients/javascript/src clients/javascript/src
COPY sql sql
RUN --mount=type=cache,target=/src/.build \
    POSTLINE_PART=program swift build -c release --static-swift-stdlib --product postline \
    && strip --strip-debug -o /postline .build/release/postline

FROM build AS build-tests
COPY Tests/BoundedWait Tests/BoundedWait
COPY Tests/LineClient Tests/LineClient
COPY Tests/ComposedTests Tests/ComposedTests
RUN --mount=type=cache,target=/src/.build \
    POSTLINE_PART=composed-tests swift build -c release --static-swift-stdlib --product composed-tests \
    && strip --strip-debug -o /composed-tests .build/release/composed-tests

# What the programs need, and a user without rights.
FROM debian:bookworm-slim AS runtime
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libargon2-1 libcrypt1 libcurl4 libpq5 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/* \
    && useradd --system --uid 900 --user-group --no-create-home --shell /usr/sbin/nologin postline
USER postline

# `docker compose run --rm tests`.
FROM runtime AS tests
COPY --from=build-tests /composed-tests /usr/local/bin/composed-tests
ENTRYPOINT ["composed-tests"]

# The server alone: the chat (`postline chat`) is made of what apps link, twice the server's size, and runs elsewhere.
FROM runtime AS postline
COPY --from=build /postline /usr/local/bin/postline
# Within a container, the loopback address is reached by nobody.
ENV POSTLINE_HOST=0.0.0.0 POSTLINE_OPERATIONS_HOST=0.0.0.0
# A process that traps ends at once, without the minute that Swift takes to write a backtrace.
ENV SWIFT_BACKTRACE=enable=no
EXPOSE 7432 7433 7480
# Healthy is who can serve clients: the database is reached, and the feed is live.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --start-interval=1s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${POSTLINE_OPERATIONS_PORT:-7480} && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r -t 2 status <&3 && [[ $status == *' 200 '* ]]"]
ENTRYPOINT ["postline"]
CMD ["serve"]
