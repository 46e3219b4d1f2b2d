# A skill that every agent may list, with its text in a file.
skill "severity" {
  description  = "Load to judge how serious a message of a customer is"
  instructions = load("./skills/severity.md")
}

agent "reader" {
  model       = models.local.small
  personality = "You read messages of customers. You answer with the facts, and nothing else."
  skills      = [skills.severity]
}

agent "writer" {
  model       = models.local.small
  personality = "You write for customers: short sentences, no jargon."

  # A skill that only this agent has.
  skill "notice" {
    description  = "Load to write a notice about an incident"
    instructions = <<-TEXT
      Write three sentences: what happened, who is affected, when the next
      message comes. Promise nothing else.
    TEXT
  }
}
