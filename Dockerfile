FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libargon2-dev libpq-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The build folder stays between builds, so that only what changed is compiled. Of the symbols the names stay, for
# backtraces.
RUN --mount=type=cache,target=/src/.build \
    swift build -c release --static-swift-stdlib --product postline \
    && strip --strip-debug -o /postline .build/release/postline

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libargon2-1 libpq5 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin postline
COPY --from=build /postline /usr/local/bin/postline
USER postline
# Within a container, the loopback address is reached by nobody.
ENV POSTLINE_HOST=0.0.0.0 POSTLINE_OPERATIONS_HOST=0.0.0.0
EXPOSE 7432 7480
# The server speaks first: a healthy one says hello.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${POSTLINE_PORT:-7432} && read -r -t 2 line <&3 && [[ $line == *server.hello* ]]"]
ENTRYPOINT ["postline"]
CMD ["serve"]
