# Prints the messages that lead to a file (-v "file=/path/to/it.cpp:"). A message is an error with the lines before it
# that lead there (GCC), and with the notes after it.
function end_message() {
  if (index(message, file)) printf "%s", message
  message = ""
  has_error = 0
}

/^In file included from |^[^ ]+: (In|At|in) |^[^ ]+:[0-9]+:[0-9]+:   / { if (has_error) end_message() }
/: error: / {
  if (has_error) end_message()
  has_error = 1
}
{ message = message $0 "\n" }
END { end_message() }
