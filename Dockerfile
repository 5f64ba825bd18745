# The gateway on its own Node, as a user without rights, with its records in /data.
#
#   docker build -t responses-gateway . && docker run --rm --network host -e HOST=127.0.0.1 responses-gateway demo
#   docker run --stop-timeout 40 -p 8080:8080 -v gateway-data:/data -e UPSTREAM_BASE_URL=https://backend.example.com/v1 responses-gateway

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY schemas schemas
COPY src src
RUN npm run --silent build

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24-slim
# Who publishes it adds where it comes from: --label org.opencontainers.image.source=… and …revision=…
LABEL org.opencontainers.image.title="responses-gateway" \
  org.opencontainers.image.description="The Responses API in front of any chat completions backend" \
  org.opencontainers.image.version="0.2.0" \
  org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN chmod +x dist/src/cli/main.js && ln -s /app/dist/src/cli/main.js /usr/local/bin/responses-gateway
COPY --from=build /app/src/docs src/docs
COPY --from=build /app/src/deploy src/deploy
COPY LICENSE README.md ./
# OpenShift runs it as a user without a name, in the group 0.
RUN mkdir --mode=770 /data && chown 1000:0 /data
# That of node, as a number: Kubernetes wants to see that it is not root.
USER 1000:1000
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATABASE_URL=file:/data/gateway.db
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["responses-gateway"]
CMD ["start"]
