"""People's judgements: doubtful candidates out to a spreadsheet, answers back as labels, labels into training."""
