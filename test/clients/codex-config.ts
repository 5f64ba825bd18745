/** What a user of Codex writes into `~/.codex/config.toml`; README shows the same text. */
export const CODEX_CONFIG = `\
model = "test-model"
model_provider = "gateway"

[model_providers.gateway]
name = "Responses gateway"
base_url = "http://127.0.0.1:8080/api/v1"
env_key = "GATEWAY_API_KEY"
wire_api = "responses"
supports_websockets = false
`;
