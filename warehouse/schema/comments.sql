-- What every table and column means. Applied again by every migration.

COMMENT ON TABLE runs IS 'One row per invocation of a flow.';
COMMENT ON COLUMN runs.run_id IS 'Key of the invocation, counted from 1.';
COMMENT ON COLUMN runs.flow IS 'Flow that ran: distill, score, evaluate, sweep, refresh or import (of scores made elsewhere).';
COMMENT ON COLUMN runs.recipe IS 'Name of the recipe.';
COMMENT ON COLUMN runs.corpus IS 'Corpus that the run worked on; NULL until it is ingested.';
COMMENT ON COLUMN runs.settings IS 'All settings of the recipe, as JSON.';
COMMENT ON COLUMN runs.facts IS 'Where it ran, with which versions, and of which run it is a part (part_of: a sweep), as JSON.';
COMMENT ON COLUMN runs.status IS 'running, completed, failed, cancelled or crashed.';
COMMENT ON COLUMN runs.error IS 'What went wrong, in a sentence; NULL when nothing did.';
COMMENT ON COLUMN runs.started_at IS 'When the invocation began.';
COMMENT ON COLUMN runs.finished_at IS 'When it ended; NULL exactly while it is running.';

COMMENT ON TABLE artifacts IS 'One row per finished folder of results; the same settings and inputs are the same artifact.';
COMMENT ON COLUMN artifacts.artifact_id IS 'Key of the artifact, valid inside this file only.';
COMMENT ON COLUMN artifacts.step IS 'The step that made it, by its verb (mine, score, train, ...).';
COMMENT ON COLUMN artifacts.fingerprint IS 'Hash of settings, inputs and code version: its name outside this file.';
COMMENT ON COLUMN artifacts.code IS 'Version of the step''s code.';
COMMENT ON COLUMN artifacts.settings IS 'The step''s settings, as JSON.';
COMMENT ON COLUMN artifacts.inputs IS 'Fingerprints of what went in, by role, as JSON.';
COMMENT ON COLUMN artifacts.versions IS 'Versions of the libraries it was made with, as JSON.';
COMMENT ON COLUMN artifacts.path IS 'Folder that holds its files.';
COMMENT ON COLUMN artifacts.seconds IS 'Seconds it took to make.';
COMMENT ON COLUMN artifacts.facts IS 'What the step wrote down about its result (counts, choices), as JSON.';
COMMENT ON COLUMN artifacts.made_at IS 'When it was finished.';
COMMENT ON COLUMN artifacts.run_id IS 'Run that first recorded it here.';

COMMENT ON TABLE rounds IS 'Which artifacts a run used in each of its rounds, made by it or found.';
COMMENT ON COLUMN rounds.run_id IS 'Key in runs.';
COMMENT ON COLUMN rounds.round IS 'Round, counted from 1; 0 is what comes before the rounds (ingest, baseline, warmup, teach).';
COMMENT ON COLUMN rounds.step IS 'Part that the artifact plays in the round, by the step''s verb.';
COMMENT ON COLUMN rounds.artifact_id IS 'Key in artifacts.';

COMMENT ON TABLE models IS 'One row per student or teacher; other weights, prompts or lengths are another model.';
COMMENT ON COLUMN models.model_id IS 'Key of the model, valid inside this file only; teacher_id elsewhere.';
COMMENT ON COLUMN models.role IS 'student (bi-encoder) or teacher (cross-encoder).';
COMMENT ON COLUMN models.name IS 'Name for people: hub id, folder, base, warm, round-N, taught; of an ensemble, its members'' joined by +.';
COMMENT ON COLUMN models.fingerprint IS 'Hash of weights, tokenizer, pooling, prompts, similarity and maximum length; of an ensemble, of its members and their scales.';
COMMENT ON COLUMN models.activation IS 'Activation the checkpoint was made for; stored logits are before it. NULL for students and ensembles.';
COMMENT ON COLUMN models.a IS 'Calibration: probability = sigmoid(a * logit + b). NULL where none is known.';
COMMENT ON COLUMN models.b IS 'Calibration: probability = sigmoid(a * logit + b). NULL where none is known.';
COMMENT ON COLUMN models.max_length IS 'Longest input in tokens; NULL where not recorded.';
COMMENT ON COLUMN models.prompts IS 'Prompts put before queries and passages, as JSON; NULL where a teacher has none.';
COMMENT ON COLUMN models.similarity IS 'Similarity of a student: cosine or dot; NULL for teachers.';
COMMENT ON COLUMN models.path IS 'Folder of the model when it was last used; NULL where not recorded.';
COMMENT ON COLUMN models.registered_at IS 'When it was first recorded.';

COMMENT ON TABLE passages IS 'One row per distinct passage text; never deleted.';
COMMENT ON COLUMN passages.passage_key IS 'Key of the text, valid inside this file only.';
COMMENT ON COLUMN passages.text_hash IS '64-bit BLAKE2b hash of the text''s UTF-8 bytes: its name outside this file.';
COMMENT ON COLUMN passages.text IS 'Title and text as the models see them, joined by one space; no prompt.';

COMMENT ON TABLE queries IS 'One row per distinct query text; never deleted.';
COMMENT ON COLUMN queries.query_key IS 'Key of the text, valid inside this file only.';
COMMENT ON COLUMN queries.text_hash IS '64-bit BLAKE2b hash of the text''s UTF-8 bytes: its name outside this file.';
COMMENT ON COLUMN queries.text IS 'Query as the models see it; no prompt.';

COMMENT ON TABLE passage_ids IS 'What passages are called in each corpus; several ids may share a text. Closed, never deleted.';
COMMENT ON COLUMN passage_ids.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN passage_ids.external_id IS 'Id in the source; of a part of a document that was cut, the document''s id, # and the number of the part.';
COMMENT ON COLUMN passage_ids.document IS 'Id of the document in the source; the same as external_id where it was not cut.';
COMMENT ON COLUMN passage_ids.title IS 'Title in the source; empty where it has none.';
COMMENT ON COLUMN passage_ids.passage_key IS 'Key in passages.';
COMMENT ON COLUMN passage_ids.shown IS 'True for the one id per corpus and text that views show: the smallest open one, else the last closed.';
COMMENT ON COLUMN passage_ids.since IS 'When this id first meant this text.';
COMMENT ON COLUMN passage_ids.until IS 'When the source stopped having it; NULL while it has.';

COMMENT ON TABLE query_ids IS 'What queries are called in each corpus; several ids may share a text. Closed, never deleted.';
COMMENT ON COLUMN query_ids.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN query_ids.external_id IS 'Id in the source.';
COMMENT ON COLUMN query_ids.split IS 'train, dev, test, guard; empty for a query without labels.';
COMMENT ON COLUMN query_ids.query_key IS 'Key in queries.';
COMMENT ON COLUMN query_ids.shown IS 'True for the one id per corpus and text that views show: the smallest open one, else the last closed.';
COMMENT ON COLUMN query_ids.since IS 'When this id first meant this text.';
COMMENT ON COLUMN query_ids.until IS 'When the source stopped having it; NULL while it has.';

COMMENT ON TABLE labels IS 'What people said about pairs. Closed, never deleted.';
COMMENT ON COLUMN labels.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN labels.query_key IS 'Key in queries.';
COMMENT ON COLUMN labels.passage_key IS 'Key in passages.';
COMMENT ON COLUMN labels.grade IS 'Above 0: relevant, more is better; 0: judged not relevant.';
COMMENT ON COLUMN labels.split IS 'Split that the label belongs to: train, dev, test or guard.';
COMMENT ON COLUMN labels.source IS 'given: came with the corpus; cloze or title: the query was made out of the passage; review or review:NAME: a person gave it in review; training alone uses it.';
COMMENT ON COLUMN labels.since IS 'When the label was first seen.';
COMMENT ON COLUMN labels.until IS 'When it was withdrawn or changed; NULL while it holds.';

COMMENT ON TABLE corpus_loads IS 'One row whenever a corpus changed; the newest row per corpus is its present state.';
COMMENT ON COLUMN corpus_loads.load_id IS 'Key of the load, counted from 1.';
COMMENT ON COLUMN corpus_loads.corpus IS 'Name of the corpus.';
COMMENT ON COLUMN corpus_loads.artifact_fingerprint IS 'Fingerprint of the ingest artifact that was loaded.';
COMMENT ON COLUMN corpus_loads.counts IS 'Rows that were opened, closed and new, as JSON.';
COMMENT ON COLUMN corpus_loads.run_id IS 'Run that loaded it.';
COMMENT ON COLUMN corpus_loads.loaded_at IS 'When it was loaded.';

COMMENT ON TABLE snapshots IS 'One row: the last snapshot that was taken of this file. Empty before the first one.';
COMMENT ON COLUMN snapshots.published_at IS 'When it was taken.';
COMMENT ON COLUMN snapshots.run_id IS 'The newest run at that time, key in runs; NULL where there was none or an earlier version took it.';

COMMENT ON TABLE teacher_scores IS 'One row per teacher, query text and passage text: a raw logit. It never goes stale.';
COMMENT ON COLUMN teacher_scores.teacher_id IS 'Key in models.';
COMMENT ON COLUMN teacher_scores.query_key IS 'Key in queries.';
COMMENT ON COLUMN teacher_scores.passage_key IS 'Key in passages.';
COMMENT ON COLUMN teacher_scores.logit IS 'Raw logit, before any activation (of two labels: second minus first; of a language model: yes minus no; of an ensemble: the mean of its members'' logits, each standardised); always finite.';
COMMENT ON COLUMN teacher_scores.n_tokens IS 'Tokens of the pair that the teacher read, special tokens included; of an ensemble, those of all members together; NULL where the score was imported.';
COMMENT ON COLUMN teacher_scores.truncated IS 'True where the passage was cut to fit the maximum length; NULL where the score was imported.';
COMMENT ON COLUMN teacher_scores.run_id IS 'Run that loaded it.';
COMMENT ON COLUMN teacher_scores.scored_at IS 'When it was loaded.';

COMMENT ON TABLE candidates IS 'What a student retrieved for train queries; known positives are left out before ranks are counted.';
COMMENT ON COLUMN candidates.artifact_id IS 'The mine artifact, key in artifacts.';
COMMENT ON COLUMN candidates.query_key IS 'Key in queries.';
COMMENT ON COLUMN candidates.passage_key IS 'Key in passages.';
COMMENT ON COLUMN candidates.rank IS 'Rank in the retrieved list, from 1; the best one where several retrieved it.';
COMMENT ON COLUMN candidates.student_score IS 'Similarity by the current student, whoever retrieved it.';
COMMENT ON COLUMN candidates.miner IS 'Who retrieved it: names of systems, joined by + where several did.';

COMMENT ON TABLE verdicts IS 'What denoising decided about every candidate and every labelled positive of a mined query.';
COMMENT ON COLUMN verdicts.artifact_id IS 'The denoise artifact, key in artifacts.';
COMMENT ON COLUMN verdicts.query_key IS 'Key in queries.';
COMMENT ON COLUMN verdicts.passage_key IS 'Key in passages.';
COMMENT ON COLUMN verdicts.verdict IS 'positive, promoted, negative, approved (a false negative by the teacher''s judgement), ambiguous or unscored.';
COMMENT ON COLUMN verdicts.reason IS 'Why, in a few words.';
COMMENT ON COLUMN verdicts.weight IS 'Weight in training; 0 leaves the row out.';
COMMENT ON COLUMN verdicts.probability IS 'Calibrated probability of relevance, 0 to 1; NULL where the pair has no score.';
COMMENT ON COLUMN verdicts.judgement IS 'Training target on the logit scale (blended where the recipe blends); NULL where the pair has no score.';

COMMENT ON TABLE metrics IS 'One row per evaluated system, split and measure.';
COMMENT ON COLUMN metrics.artifact_id IS 'The evaluate artifact, key in artifacts.';
COMMENT ON COLUMN metrics.system IS 'chance, bm25, hybrid, base, warm, warm-long, teacher, incumbent (in use before a refresh), round-N or round-N+teacher; NAME@D: by the first D numbers of its vectors.';
COMMENT ON COLUMN metrics.split IS 'Split of the queries: train, dev, test or guard.';
COMMENT ON COLUMN metrics.measure IS 'Measure, as ir-measures names it (nDCG@10, RR@10, R@100, AP).';
COMMENT ON COLUMN metrics.value IS 'Mean over the queries; a query without results counts as 0.';
COMMENT ON COLUMN metrics.chance IS 'What a random order would get on the same queries; NULL where not computed.';
COMMENT ON COLUMN metrics.queries IS 'Number of queries in the mean.';

COMMENT ON TABLE query_metrics IS 'One row per evaluated system, query and measure: for paired comparisons.';
COMMENT ON COLUMN query_metrics.artifact_id IS 'The evaluate artifact, key in artifacts.';
COMMENT ON COLUMN query_metrics.system IS 'System that was evaluated.';
COMMENT ON COLUMN query_metrics.split IS 'Split of the query.';
COMMENT ON COLUMN query_metrics.query_key IS 'Key in queries.';
COMMENT ON COLUMN query_metrics.measure IS 'Measure, as ir-measures names it.';
COMMENT ON COLUMN query_metrics.value IS 'Value for this query.';

COMMENT ON TABLE rankings IS 'What an evaluated system ranked first for each dev and test query, as deep as it was evaluated.';
COMMENT ON COLUMN rankings.artifact_id IS 'The evaluate artifact, key in artifacts; metrics names its system.';
COMMENT ON COLUMN rankings.query_key IS 'Key in queries.';
COMMENT ON COLUMN rankings.passage_key IS 'Key in passages.';
COMMENT ON COLUMN rankings.rank IS 'Rank by the system, from 1.';
COMMENT ON COLUMN rankings.score IS 'The system''s own score (similarity, BM25; a teacher''s logit or blend in the ranks that it re-ranked): to be compared within a query only.';

COMMENT ON TABLE diagnostics IS 'Numbers that a step noted about its result, with a sentence where one helps.';
COMMENT ON COLUMN diagnostics.artifact_id IS 'Key in artifacts.';
COMMENT ON COLUMN diagnostics.name IS 'What was measured.';
COMMENT ON COLUMN diagnostics.value IS 'The number; NULL where only a note was made.';
COMMENT ON COLUMN diagnostics.note IS 'A sentence for people; NULL where the number says it all.';

COMMENT ON TABLE history IS 'The course of a training, one row per logged step.';
COMMENT ON COLUMN history.artifact_id IS 'The train, warmup or teach artifact, key in artifacts.';
COMMENT ON COLUMN history.step IS 'Optimizer steps so far.';
COMMENT ON COLUMN history.epoch IS 'Passes over the training queries so far.';
COMMENT ON COLUMN history.loss IS 'Training loss at this step; NULL where none was logged.';
COMMENT ON COLUMN history.measure IS 'Dev measure; NULL between evaluations.';
COMMENT ON COLUMN history.seconds IS 'Seconds since the training began.';
COMMENT ON COLUMN history.tokens IS 'Tokens trained on so far.';

COMMENT ON TABLE promotions IS 'One row per decision on which student a recipe''s users serve, by a run or by hand; never changed. The newest row of a recipe is the one in use.';
COMMENT ON COLUMN promotions.promotion_id IS 'Key of the decision, counted from 1.';
COMMENT ON COLUMN promotions.recipe IS 'Name of the recipe.';
COMMENT ON COLUMN promotions.run_id IS 'Run whose student it is, key in runs.';
COMMENT ON COLUMN promotions.system IS 'The student within its run: base, warm, warm-long or round-N.';
COMMENT ON COLUMN promotions.fingerprint IS 'Fingerprint of the student.';
COMMENT ON COLUMN promotions.path IS 'Folder of the student.';
COMMENT ON COLUMN promotions.trust_remote_code IS 'Whether it runs code that came with the model.';
COMMENT ON COLUMN promotions.evaluation IS 'Folder of the evaluation that it was chosen by.';
COMMENT ON COLUMN promotions.made_by IS 'run: at the end of a run; hand: remine promote; rollback: remine rollback, back to an earlier one.';
COMMENT ON COLUMN promotions.who IS 'Account that decided, or that the run ran as.';
COMMENT ON COLUMN promotions.why IS 'The reason, in a sentence.';
COMMENT ON COLUMN promotions.decided_at IS 'When it was decided.';

COMMENT ON TABLE shard_loads IS 'The ledger: one row per file that was loaded, written in the same transaction as its rows.';
COMMENT ON COLUMN shard_loads.name IS 'Artifact fingerprint and file name.';
COMMENT ON COLUMN shard_loads.table_name IS 'Table that received the rows.';
COMMENT ON COLUMN shard_loads.artifact_id IS 'Artifact of the rows, key in artifacts; NULL for teacher scores.';
COMMENT ON COLUMN shard_loads.teacher_id IS 'Teacher of the scores, key in models; NULL for everything else.';
COMMENT ON COLUMN shard_loads.n_rows IS 'Rows in the file.';
COMMENT ON COLUMN shard_loads.n_new IS 'Rows that were new and went in.';
COMMENT ON COLUMN shard_loads.precision IS 'Arithmetic of the computation (fp32, bf16); NULL where it does not apply.';
COMMENT ON COLUMN shard_loads.device IS 'Device of the computation; NULL where it does not apply.';
COMMENT ON COLUMN shard_loads.versions IS 'Versions of the libraries, as JSON; NULL where they stand with the artifact.';
COMMENT ON COLUMN shard_loads.seconds IS 'Seconds of computation; NULL where they stand with the artifact.';
COMMENT ON COLUMN shard_loads.run_id IS 'Run that loaded it.';
COMMENT ON COLUMN shard_loads.loaded_at IS 'When it was loaded.';

COMMENT ON TABLE schema_version IS 'One row per migration that this file has been through.';
COMMENT ON COLUMN schema_version.version IS 'Time stamp in the migration''s file name.';
COMMENT ON COLUMN schema_version.name IS 'Name of the migration.';
COMMENT ON COLUMN schema_version.surface IS 'Hash of the views and comments that were applied last; NULL on all rows but the newest.';
COMMENT ON COLUMN schema_version.applied_at IS 'When it was applied.';
