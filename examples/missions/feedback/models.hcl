# A local server that speaks OpenAI's format. `--model` replaces every model of a mission.
model "local" {
  provider = "ollama"
  base_url = "http://localhost:11434/v1"
  aliases  = { small = "qwen3:4b" }
}
