"""The steps of `distill`, each asked for the name of what it would make, and for its amount."""

from collections.abc import Sequence
from functools import partial

from flows.planned import Decided
from flows.planned_scores import Scores
from flows.standing import Measured, evidence_of, lectern_of, lesson_of, planning_of, seen_of
from tasks.artifacts import Artifact, NotMade, looking
from tasks.denoise.evidence import Evidence, Reviewed
from tasks.diagnose.diagnosing import diagnose_student
from tasks.mine.miners import BM25, Miners
from tasks.plan.amounts import amount
from tasks.plan.found import is_there, look, unmade_student, unmade_teacher, unnamed
from tasks.refs import StudentRef, TeacherRef
from tasks.warmup.settings import Warmup


class Steps(Scores):
    """Asks steps one after the other and keeps their lines."""

    def ingest(self) -> None:
        """The corpus, and the guard set where there is one."""
        self.add(self.corpus, 0, self.data.artifact.step, "", self.amounts.ingest())
        if self.guard:
            self.add(self.guard.artifact, 0, "guard", "read", amount({"second": 2 * self.guard.seconds}))

    def baseline(self) -> StudentRef:
        """Chance, BM25, and the student as it comes."""
        from tasks.baseline.systems import base_student, evaluate_bm25, evaluate_chance

        depth = self.recipe.evaluation.depth
        chance = look(partial(evaluate_chance, self.root, self.corpus, depth))
        self.add(chance, 0, "baseline", "chance", self.amounts.chance())
        bm25 = look(partial(evaluate_bm25, self.root, self.corpus, depth, self.recipe.evaluation.ignore_identical_ids))
        self.add(bm25, 0, "baseline", "bm25", self.amounts.bm25())
        try:
            with looking():
                return base_student(self.where, self.recipe.student)
        except NotMade as missing:  # another length or other prompts: a folder of its own
            self.add(missing.artifact, 0, "baseline", "base", self.amounts.export())
            return unmade_student(missing.artifact, "base")

    def hybrid(self, base: Measured) -> None:
        """BM25 and the base together."""
        from tasks.baseline.systems import evaluate_bm25, evaluate_hybrid

        depth = self.recipe.evaluation.depth
        words = look(partial(evaluate_bm25, self.root, self.corpus, depth, self.recipe.evaluation.ignore_identical_ids))
        both = look(partial(evaluate_hybrid, self.root, self.corpus, words, base.evaluation, depth))
        self.add(both, 0, "baseline", "hybrid", self.amounts.evaluate())

    def measure(self, number: int, student: StudentRef) -> Measured:
        """Vectors and evaluation of a student."""
        from tasks.encode import encode_corpus
        from tasks.evaluate.cutoff import threshold_of
        from tasks.evaluate.systems import evaluate_student, shortened

        vectors = look(partial(encode_corpus, self.where, self.corpus, student))
        self.add(vectors, number, "encode", student.system, self.amounts.encode())
        made = []
        for dimension in (None, *self.recipe.training.dimensions):
            ways = (self.root, student.system, self.corpus, vectors, self.recipe.evaluation, dimension)
            made.append(look(partial(evaluate_student, *ways)))
            self.add(made[-1], number, "evaluate", shortened(student.system, dimension), self.amounts.evaluate())
        guarded = self._guarded(number, student)
        cutoff = look(partial(threshold_of, self.root, self.corpus, made[0])) if is_there(made[0]) else None
        cutoff = cutoff or unnamed(self.root, "threshold", made[0].fingerprint)
        self.add(cutoff, number, "threshold", student.system, self.amounts.promote())
        return Measured(student=student, vectors=vectors, evaluation=made[0], guarded=guarded, cutoff=cutoff)

    def examine(self, student: StudentRef) -> Measured:
        """Vectors, evaluation and diagnosis of a student that comes from no round."""
        measured = self.measure(0, student)
        self.diagnose(0, measured)
        return measured

    def _guarded(self, number: int, student: StudentRef) -> Artifact | None:
        """Vectors and evaluation of a student on the guard set."""
        from tasks.encode import encode_corpus
        from tasks.evaluate.systems import evaluate_student

        if self.guard is None:
            return None
        corpus = self.guard.artifact
        vectors = look(partial(encode_corpus, self.where, corpus, student))
        self.add(vectors, number, "guard", f"encode, {student.system}", self.amounts.encode_other(self.guard))
        ways = (self.root, student.system, corpus, vectors, self.recipe.evaluation)
        measured = look(partial(evaluate_student, *ways))
        return self.add(measured, number, "guard", student.system, amount({"ranking": self.guard.queries.height}))

    def diagnose(
        self,
        number: int,
        measured: Measured,
        evidence: Evidence | None = None,
        judged: Sequence[Artifact] = (),
    ) -> None:
        """Figures of a student's vectors and of its round; the newest verdicts come first."""
        seen = seen_of(measured, self.recipe, evidence, judged)
        found = look(partial(diagnose_student, self.where, self.corpus, seen))
        self.add(found, number, "diagnose", measured.student.system, self.amounts.promote())

    def warmup(self, base: StudentRef, settings: Warmup, system: str) -> StudentRef:
        """A student trained on the labels alone."""
        from tasks.warmup.warming import warm_plan, warm_student

        artifact = look(partial(warm_student, self.where, self.corpus, base, settings, *self.decides))
        amount = self.amounts.train("warmup step", warm_plan(settings, 0))
        return self._trained(self.add(artifact, 0, "warmup", system, amount), system, base)

    def train(self, number: int, students: dict[str, StudentRef], judged: list[Artifact]) -> StudentRef:
        """A round's student; the newest verdicts come first."""
        from tasks.train.rounds import round_plan, train_round

        lesson = lesson_of(self.recipe, self.corpus, judged, students)
        settings = self.recipe.training
        seed, measure = self.decides
        artifact = look(partial(train_round, self.where, lesson, settings, seed + number, measure))
        amount = self.amounts.train("training step", round_plan(settings, 0))
        system = f"round-{number}"
        return self._trained(self.add(artifact, number, "train", system, amount), system, lesson.start)

    def promote(self, number: int, incumbent: Measured, challenger: Measured) -> Decided:
        """The better of two students."""
        from tasks.promote.deciding import decide

        old, new = incumbent.contender, challenger.contender
        what = f"{incumbent.student.system} or {challenger.student.system}"
        try:
            with looking():
                decision = decide(self.root, old, new, self.recipe.promotion, self.recipe.evaluation.measure)
        except NotMade as missing:
            self.add(missing.artifact, number, "promote", what, self.amounts.promote())
            unknown = unnamed(self.root, "evaluate", f"best of {missing.artifact.fingerprint}")
            best = Measured(student=unmade_student(missing.artifact, "the best"), vectors=unknown, evaluation=unknown)
            return Decided(best, None)
        self.add(decision.artifact, number, "promote", what, self.amounts.promote())
        return Decided(incumbent.after(decision, challenger), decision)

    def mine(self, number: int, miners: Miners) -> Artifact:
        """Candidates of the train queries."""
        from tasks.mine.mining import mine_candidates

        names = [miner.system for miner in miners.asked(self.recipe.mining)]
        names += [BM25] if BM25 in self.recipe.mining.miners else []
        mined = look(partial(mine_candidates, self.root, self.corpus, miners, self.recipe.mining))
        return self.add(mined, number, "mine", f"by {', '.join(names)}", self.amounts.mine())

    def teach(self, warm: Measured, mined: Artifact) -> TeacherRef:
        """The ready teacher, or one that is taught."""
        from tasks.teach.teaching import ready_teachers, taught_teacher, teach_folds

        self.ready = ready_teachers(self.recipe.teacher)
        if len(self.ready) > 1:
            return self._ensemble(mined)
        if self.ready:
            (self.teacher,) = self.ready
            return self.teacher
        lectern = lectern_of(self.corpus, warm, mined)
        taught = look(partial(teach_folds, self.where, lectern, self.recipe.teach, *self.decides))
        folds = f"{self.recipe.teach.folds} folds"
        self.add(taught, 0, "teach", folds, self.amounts.teach(self.recipe.teach))
        if not is_there(taught):
            return unmade_teacher(taught)
        self.teacher = taught_teacher(taught)
        return self.teacher

    def _ensemble(self, mined: Artifact) -> TeacherRef:
        """Members score the first candidates, which settles their scales."""
        from tasks.score.scoring import name_scores
        from tasks.teach.ensemble import ensemble_of, gather_ensemble

        amounts = self.amounts.mined
        scored = []
        for member in self.ready:
            self._score(0, f"train, {member.name}", mined, member, (amounts.pairs, amounts.positives))
            scored.append(name_scores(self.root, mined, member.fingerprint)[0])
        gathered = look(partial(gather_ensemble, self.root, self.ready, scored))
        self.add(gathered, 0, "teach", f"ensemble of {len(self.ready)}", self.amounts.calibrate(0))
        if not is_there(gathered):
            return unmade_teacher(gathered)
        self.teacher = ensemble_of(gathered, self.ready)
        return self.teacher

    def calibrate(self, teacher: TeacherRef, ranked: Measured, scored: Artifact) -> TeacherRef:
        """The teacher with its blend and its probabilities."""
        from tasks.teach.calibrating import calibrated, calibration

        how, evidence = (self.recipe.teacher.blend, self.decides[1]), (ranked.evaluation, scored)
        found = look(partial(calibration, self.root, self.corpus, teacher, evidence, how))
        self.add(found, 0, "calibrate", "", self.amounts.calibrate(len(set(how[0]))))
        return calibrated(teacher, found) if is_there(found) else teacher.model_copy(update={"calibrated": True})

    def rerank(self, number: int, measured: Measured, scored: Artifact, teacher: TeacherRef) -> Artifact:
        """The evaluation of the teacher re-ranking a student's candidates."""
        from tasks.evaluate.systems import evaluate_reranked, reranked_name

        ranked = measured.evaluation
        if is_there(ranked):
            found = look(partial(evaluate_reranked, self.root, self.corpus, ranked, scored, teacher))
        else:
            found = unnamed(self.root, "evaluate", f"{ranked.fingerprint} re-ranked")
        return self.add(found, number, "evaluate", reranked_name(measured.student.system), self.amounts.evaluate())

    def gate(self, number: int, student: Measured, reranked: Artifact) -> bool | None:
        """The teacher against the student that it is to teach next: whether it goes on; None where that is unknown."""
        from tasks.teach.gate import judge_teacher

        gate = planning_of(self.recipe).gate
        found = look(partial(judge_teacher, self.root, student.evaluation, reranked, gate))
        self.add(found, number, "gate", "", self.amounts.promote())
        return bool(found.facts["goes_on"]) if is_there(found) else None

    def evidence(self, number: int, miner: Measured, mined: Artifact, teacher: TeacherRef) -> Evidence:
        """What verdicts rest on."""
        scored = self.score_mined(number, mined, teacher)
        return evidence_of(self.corpus, miner, mined, scored, self.reviewed(number, teacher))

    def reviewed(self, number: int, teacher: TeacherRef) -> Reviewed | None:
        """What people have said by now, scored."""
        from tasks.record import warehouse_of
        from tasks.review.labels import review_artifact
        from warehouse.reviews import reviewed_labels

        if not (self.where.warehouse_path.exists() and is_there(self.corpus)):
            return None
        said = reviewed_labels(warehouse_of(self.where), self.corpus.facts["corpus"])
        labels = look(partial(review_artifact, self.root, self.corpus, said))
        if labels is None:
            return None
        self.add(labels, number, "review", "", self.amounts.promote())
        return Reviewed(labels=labels, scored=self._score(number, "reviewed", labels, teacher, (said.height, 0)))

    def denoise(self, number: int, evidence: Evidence, teacher: TeacherRef) -> Artifact:
        """Verdicts."""
        from tasks.denoise.denoising import judge_candidates

        judged = look(partial(judge_candidates, self.root, evidence, teacher, self.recipe.denoising))
        return self.add(judged, number, "denoise", "", self.amounts.denoise())

    def _trained(self, artifact: Artifact, system: str, start: StudentRef) -> StudentRef:
        from tasks.train.training import student_of

        return student_of(artifact, system, start) if is_there(artifact) else unmade_student(artifact, system)
