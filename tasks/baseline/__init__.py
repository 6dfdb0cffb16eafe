"""What there is to beat: chance, BM25 and the student as it comes."""
