# The `dogged` command, and the webhook example's worker and receiver. A service of your own goes the same way: build it
# on the first stage, where `cmake --install` has put the package, and copy its worker into an image like the second.
#
#   docker build -t dogged .
#   docker run --rm dogged dogged --help

FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      g++ cmake ninja-build pkg-config libpqxx-dev nlohmann-json3-dev libcli11-dev libspdlog-dev \
      libcurl4-openssl-dev libcpp-httplib-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /dogged
COPY . .
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDOGGED_BUILD_TESTS=OFF \
 && cmake --build build \
 && cmake --install build --prefix /usr/local --strip \
 && install --strip build/examples/webhooks/webhook_worker build/examples/webhooks/webhook_demo_worker \
      build/examples/webhooks/webhook_receiver /usr/local/bin/

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates libpqxx-6.4 libspdlog1.10 libcurl4 libcpp-httplib0.11 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home dogged
COPY --from=build /usr/local/bin/ /usr/local/bin/
USER dogged
CMD ["dogged", "--help"]
