# The images of operator and agent, for people with a container engine:
#   docker buildx build --platform linux/amd64,linux/arm64 --target stoker-operator .
#   docker buildx build --platform linux/amd64,linux/arm64 --target stoker-agent .
# Their files are those of `cargo xtask image`, which needs no container engine. There is no shell in them.

FROM rust:1-bookworm AS files
WORKDIR /source
COPY . .
RUN cargo xtask image --dist --unpacked --output /images

FROM scratch AS stoker-operator
COPY --from=files /images/stoker-operator/ /
COPY --from=files --chown=65532:65532 --chmod=0700 /images/stoker-operator/home/nonroot/ /home/nonroot/
ENV PATH=/usr/local/bin:/usr/bin:/bin
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/stoker-operator"]

FROM scratch AS stoker-agent
COPY --from=files /images/stoker-agent/ /
COPY --from=files --chown=65532:65532 --chmod=0700 /images/stoker-agent/home/nonroot/ /home/nonroot/
ENV PATH=/usr/local/bin:/usr/bin:/bin
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/stoker-agent"]
