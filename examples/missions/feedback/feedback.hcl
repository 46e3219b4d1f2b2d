mission "feedback" {
  directive = "Read what customers wrote about ${inputs.product}, and answer in time."

  commander { model = models.local.small }
  agents       = [agents.reader, agents.writer]
  max_parallel = 2
  budget { tokens = 200000 }

  input "product" {
    type    = "string"
    default = "Ledger"
  }

  dataset "messages" {
    description = "Messages of this week"
    items = [
      { id = "m1", text = "The new export is great, thank you." },
      { id = "m2", text = "Since Monday, invoices of last year are gone." },
      { id = "m3", text = "How do I change my password?" },
    ]
  }

  # One commander for each message, two at a time.
  task "classify" {
    objective = "Classify message ${item.id} about ${inputs.product}: ${item.text}"
    agents    = [agents.reader]
    iterator {
      dataset           = datasets.messages
      parallel          = true
      concurrency_limit = 2
    }
    output {
      field "kind" {
        type        = "string"
        description = "praise, problem or question"
        required    = true
      }
      field "severity" {
        type        = "integer"
        description = "0 to 3"
        required    = true
      }
    }
  }

  # The commander chooses the task that follows.
  task "decide" {
    objective  = "Decide what this week's messages need."
    depends_on = [tasks.classify]
    router {
      route {
        target    = tasks.incident
        condition = "A message has severity 3"
      }
      route {
        target    = tasks.digest
        condition = "All messages have severity 2 or less"
      }
    }
  }

  task "incident" {
    objective = "Write a notice about the most serious message."
    agents    = [agents.writer]
    output {
      field "title" {
        type     = "string"
        required = true
      }
      field "notice" {
        type     = "string"
        required = true
      }
    }
  }

  task "digest" {
    objective = "Summarise the messages for the team."
    agents    = [agents.writer]
  }
}
