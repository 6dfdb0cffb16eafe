"""Train the student on judged lists."""
