(** Schedules of the form order: SPEC 5.3. An execution is a sequence of reads and writes that keeps the
    order; where there is no race all executions end alike, so that one decides, and a function decides it.
    Left out: capacity, which SPEC does not decide of this form; when transfers happen. *)
From Coq Require Import Bool List ZArith NArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds.
Import ListNotations.
Local Open Scope nat_scope.

(** An event is that a transfer, by its number, reads, or with [true] that it ends and writes. *)
Definition event := (nat * bool)%type.

Section Order.
Variable ts : list transfer.
Variable deps : nat -> list nat.
Definition by_number (i : nat) : transfer := nth i ts (Transfer 0 0 0 Copy).
Definition reads (i : nat) : rank * chunk := (src (by_number i), what (by_number i)).
Definition writes (i : nat) : rank * chunk := slot (by_number i).

(** ** Executions *)

(** A read follows the ends of all that must have ended. *)
Inductive follows : event -> event -> Prop :=
| ends_after_read i : follows (i, false) (i, true)
| reads_after_end i k : In k (deps i) -> follows (k, true) (i, false).
(** All events, one after another. *)
Definition possible (l : list event) : Prop :=
  (forall i b, In (i, b) l <-> i < length ts) /\
  exists time : event -> nat, (forall a b, follows a b -> fst b < length ts -> time a < time b) /\ ForallOrdPairs (fun a b => time a < time b) l.

(** What slots hold, what each transfer has read, and whether all that was needed was defined. *)
Record memory := Memory { now : state; got : nat -> option value; fine : bool }.
Definition defined (w : option value) : bool := match w with Some _ => true | None => false end.
Definition set (s : state) (p : rank * chunk) (w : option value) : state := fun v k => if same_slot p (v, k) then w else s v k.
Definition happen (m : memory) (e : event) : memory :=
  let '(i, ended) := e in
  let t := by_number i in
  if ended then
    let w := put (op t) (got m i) (now m (dst t) (what t)) in
    Memory (set (now m) (slot t) w) (got m) (fine m && defined w)
  else Memory (now m) (fun x => if Nat.eqb x i then now m (src t) (what t) else got m x) (fine m).
Definition run (m : memory) (l : list event) : memory := fold_left happen l m.
Definition alike (a b : memory) : Prop :=
  (forall v k, now a v k = now b v k) /\ (forall i, got a i = got b i) /\ fine a = fine b.

(** ** Happens before, and races *)

Inductive before : nat -> nat -> Prop :=
| before_dep k i : In k (deps i) -> i < length ts -> before k i
| before_chain k x i : before k x -> before x i -> before k i.
Definition no_race : Prop := forall i k, i < length ts -> k < length ts -> i <> k ->
  (reads i = writes k -> before i k \/ before k i) /\
  (writes i = writes k -> ~ (op (by_number i) = Reduce /\ op (by_number k) = Reduce) -> before i k \/ before k i).

(** ** One execution decides for all *)

Definition must (a b : event) : Prop :=
  (fst a = fst b /\ snd a = false /\ snd b = true) \/ before (fst a) (fst b).
Definition conflict (a b : event) : Prop :=
  fst a = fst b \/
  match snd a, snd b with
  | false, false => False
  | false, true => reads (fst a) = writes (fst b)
  | true, false => reads (fst b) = writes (fst a)
  | true, true => writes (fst a) = writes (fst b) /\ ~ (op (by_number (fst a)) = Reduce /\ op (by_number (fst b)) = Reduce)
  end.

Lemma before_lt k i : before k i -> i < length ts.
Proof. induction 1; auto. Qed.
Lemma possible_must l : possible l -> ForallOrdPairs (fun a b => ~ must b a) l.
Proof.
  intros [Hall [time [Hf Hl]]].
  assert (S : forall i, i < length ts -> time (i, false) < time (i, true)) by (intros i Hi; apply Hf; [constructor|exact Hi]).
  assert (B : forall k i, before k i -> k < length ts -> time (k, true) < time (i, false)).
  { intros k i Hb. induction Hb as [k i Hd Hi|k x i H1 IH1 H2 IH2]; intros Hk; [apply Hf; [constructor; exact Hd|exact Hi]|].
    pose proof (before_lt _ _ H1) as Hx. specialize (IH1 Hk). specialize (IH2 Hx). specialize (S x Hx). lia. }
  assert (In_l : forall e, In e l -> fst e < length ts) by (intros [i b] He; apply (Hall i b), He). clear Hall.
  induction Hl as [|a l Ha _ IH]; constructor.
  - rewrite Forall_forall in *. intros b Hb M. specialize (Ha b Hb).
    pose proof (In_l a (or_introl eq_refl)) as La. pose proof (In_l b (or_intror Hb)) as Lb. destruct a as [i x], b as [k y]. simpl in *.
    destruct M as [[E [Ey Ex]]|M]; simpl in *; [subst; pose proof (S i La); lia|].
    pose proof (B _ _ M Lb). pose proof (S i La). pose proof (S k Lb). destruct x, y; lia.
  - apply IH. intros e He. apply In_l. right. exact He.
Qed.
Lemma conflict_must a b : no_race -> fst a < length ts -> fst b < length ts -> a <> b -> conflict a b -> must a b \/ must b a.
Proof.
  intros N La Lb Hn C. destruct a as [i x], b as [k y]. unfold conflict, must in *. cbn [fst snd] in *.
  destruct (Nat.eq_dec i k) as [->|Hik].
  - destruct x, y; try congruence; auto.
  - destruct C as [C|C]; [congruence|]. destruct (N i k La Lb Hik) as [N1 N2]. destruct (N k i Lb La (not_eq_sym Hik)) as [N3 _].
    destruct x, y; [destruct C as [C1 C2]; specialize (N2 C1 C2)|specialize (N3 C)|specialize (N1 C)|destruct C]; tauto.
Qed.

Lemma alike_refl m : alike m m.
Proof. split; [|split]; auto. Qed.
Lemma alike_sym a b : alike a b -> alike b a.
Proof. intros [A [B C]]. split; [|split]; auto. Qed.
Lemma alike_trans a b c : alike a b -> alike b c -> alike a c.
Proof. intros [A [B C]] [A' [B' C']]. split; [|split]; intros; [rewrite A|rewrite B|rewrite C]; auto. Qed.
Lemma happen_alike a b e : alike a b -> alike (happen a e) (happen b e).
Proof.
  intros [A [B C]]. destruct e as [i [|]]; unfold happen, alike, set; cbn [now got fine].
  - rewrite B, A, C. split; [|split]; auto. intros v k. destruct (same_slot _ _); auto.
  - rewrite A. split; [|split]; auto. intros x. destruct (Nat.eqb x i); auto.
Qed.
Lemma run_alike l : forall a b, alike a b -> alike (run a l) (run b l).
Proof. induction l as [|e l IH]; simpl; intros a b H; auto. apply IH, happen_alike, H. Qed.

Lemma put_reduce a b acc : put Reduce a (put Reduce b acc) = put Reduce b (put Reduce a acc).
Proof. destruct a, b, acc; simpl; auto. rewrite !add_assoc. do 2 f_equal. apply add_comm. Qed.
Lemma set_same s p w v k : p = (v, k) -> set s p w v k = w.
Proof. intros ->. unfold set. rewrite (proj2 (same_slot_spec _ _)); auto. Qed.
Lemma set_other s p w v k : p <> (v, k) -> set s p w v k = s v k.
Proof. intros H. unfold set. destruct (same_slot p (v, k)) eqn:E; auto. apply same_slot_spec in E. congruence. Qed.
Lemma commute m a b : ~ conflict a b -> alike (happen (happen m a) b) (happen (happen m b) a).
Proof.
  destruct a as [i x], b as [k y]. unfold conflict. cbn [fst snd]. intros N.
  assert (Hik : i <> k) by (intros E; apply N; auto). destruct x, y; unfold happen; cbn [now got fine].
  - (* two writes *)
    destruct (slot_dec (slot (by_number i)) (slot (by_number k))) as [E|E].
    + assert (R : op (by_number i) = Reduce /\ op (by_number k) = Reduce).
      { destruct (op (by_number i)) eqn:Ei, (op (by_number k)) eqn:Ek; auto; exfalso; apply N; right; split; auto; intros [? ?]; congruence. }
      destruct R as [Ri Rk]. rewrite Ri, Rk. injection E as E1 E2.
      rewrite !set_same by (unfold slot; congruence). rewrite <- E1, <- E2.
      split; [|split]; [|auto|].
      * intros v c. cbn [now]. unfold set. unfold slot. rewrite <- E1, <- E2. destruct (same_slot _ _); auto. apply put_reduce.
      * cbn [fine]. destruct (got m i), (got m k), (now m (dst (by_number i)) (what (by_number i))), (fine m); reflexivity.
    + rewrite !set_other by (unfold slot in *; congruence). split; [|split]; [|auto|].
      * intros v c. cbn [now]. unfold set. destruct (same_slot (slot (by_number k)) (v, c)) eqn:Ek, (same_slot (slot (by_number i)) (v, c)) eqn:Ei; auto.
        apply same_slot_spec in Ek, Ei. congruence.
      * cbn [fine]. rewrite <- !andb_assoc. f_equal. apply andb_comm.
  - (* i writes, k reads *)
    assert (E : slot (by_number i) <> (src (by_number k), what (by_number k))) by (intros E; apply N; right; unfold reads, writes; congruence).
    rewrite set_other by exact E. rewrite (proj2 (Nat.eqb_neq i k) Hik). split; [|split]; auto.
  - assert (E : slot (by_number k) <> (src (by_number i), what (by_number i))) by (intros E; apply N; right; unfold reads, writes; congruence).
    rewrite set_other by exact E. rewrite (proj2 (Nat.eqb_neq k i) (not_eq_sym Hik)). split; [|split]; auto.
  - split; [|split]; auto. cbn [got]. intros x. destruct (Nat.eqb_spec x k), (Nat.eqb_spec x i); auto. congruence.
Qed.
Lemma bring_forward e l : (forall a, In a l -> ~ conflict a e) -> forall m, alike (run m (l ++ [e])) (run (happen m e) l).
Proof.
  induction l as [|a l IH]; simpl; intros H m; [apply alike_refl|].
  eapply alike_trans; [apply IH; auto|]. apply run_alike, commute. apply H. auto.
Qed.

Theorem one_execution_decides l1 l2 m : no_race -> possible l1 -> possible l2 -> alike (run m l1) (run m l2).
Proof.
  intros N P1 P2.
  assert (All : forall e, In e l1 <-> In e l2).
  { intros [i b]. destruct P1 as [A1 _], P2 as [A2 _]. rewrite A1, A2. reflexivity. }
  assert (Lt : forall e, In e l1 -> fst e < length ts) by (intros [i b] He; destruct P1 as [A _]; apply (A i b), He).
  assert (D : forall l, possible l -> NoDup l).
  { intros l [_ [time [_ Hl]]]. induction Hl as [|a l Ha _ IH]; constructor; auto. intros Hin. rewrite Forall_forall in Ha. specialize (Ha a Hin). lia. }
  pose proof (D l1 P1) as D1. pose proof (D l2 P2) as D2. apply possible_must in P1. apply possible_must in P2.
  revert l2 m All D2 P2. induction l1 as [|e l1 IH]; intros l2 m All D2 P2.
  - destruct l2 as [|x l2]; [apply alike_refl|]. destruct (proj2 (All x) (or_introl eq_refl)).
  - inversion P1 as [|? ? Pe P1']; subst. inversion D1 as [|? ? De D1']; subst. rewrite Forall_forall in Pe.
    destruct (in_split e l2 (proj1 (All e) (or_introl eq_refl))) as [x [y ->]].
    pose proof (NoDup_remove_2 _ _ _ D2) as Nxy. pose proof (NoDup_remove_1 _ _ _ D2) as Dxy.
    apply pairs_app in P2. destruct P2 as [Px [Pey Pxy]]. inversion Pey as [|? ? Py1 Py]; subst.
    assert (Free : forall a, In a x -> ~ conflict a e).
    { intros a Ha C. assert (Hne : a <> e) by (intros ->; apply Nxy, in_or_app; auto).
      assert (Ia : In a (e :: l1)) by (apply All, in_or_app; auto). destruct Ia as [Ia|Ia]; [congruence|].
      destruct (conflict_must a e N (Lt a (or_intror Ia)) (Lt e (or_introl eq_refl)) Hne C) as [M|M].
      - apply (Pe a Ia), M.
      - apply (Pxy a e Ha (or_introl eq_refl)), M. }
    simpl run. unfold run at 2. rewrite fold_left_app. cbn [fold_left]. fold (run m x). fold (run (happen (run m x) e) y).
    eapply alike_trans.
    + apply (IH P1' (fun b Hb => Lt b (or_intror Hb)) D1' (x ++ y)); auto.
      * intros b. specialize (All b). rewrite in_app_iff in All |- *. simpl in All. split.
        -- intros Hb. assert (b <> e) by (intros ->; auto). intuition congruence.
        -- intros Hb. assert (b <> e) by (intros ->; apply Nxy; rewrite in_app_iff; exact Hb). intuition congruence.
      * apply pairs_app. split; [exact Px|]. split; [exact Py|]. intros a b Ha Hb. apply Pxy; auto. right. exact Hb.
    + unfold run at 1. rewrite fold_left_app. fold (run (happen m e) x). apply run_alike. apply alike_sym.
      pose proof (bring_forward e x Free m) as B. unfold run in B at 1. rewrite fold_left_app in B. exact B.
Qed.
End Order.

(** ** A function that decides *)

Section Decide.
Variable ts : list transfer.
Variable deps : list (list nat).
Definition of_number (i : nat) : list nat := nth i deps [].
(** Transfers are listed so that each comes after those that it waits for. *)
Definition listed : bool := forallb (fun i => forallb (fun k => k <? i) (of_number i)) (seq 0 (length ts)).
Hypothesis in_turn : listed = true.
Lemma earlier k i : i < length ts -> In k (of_number i) -> k < i.
Proof.
  intros Hi Hk. unfold listed in in_turn. rewrite forallb_forall in in_turn. specialize (in_turn i ltac:(apply in_seq; lia)).
  rewrite forallb_forall in in_turn. apply Nat.ltb_lt, in_turn, Hk.
Qed.

Definition one_by_one (i n : nat) : list event := flat_map (fun i => [(i, false); (i, true)]) (seq i n).
Lemma in_one_by_one i n e : In e (one_by_one i n) <-> i <= fst e < i + n.
Proof.
  unfold one_by_one. rewrite in_flat_map. split.
  - intros [k [Hk He]]. apply in_seq in Hk. destruct He as [<-|[<-|[]]]; exact Hk.
  - intros H. exists (fst e). split; [apply in_seq; exact H|]. destruct e as [k [|]]; simpl; auto.
Qed.
Lemma one_by_one_possible : possible ts of_number (one_by_one 0 (length ts)).
Proof.
  split; [intros i b; rewrite in_one_by_one; simpl; lia|]. exists (fun e : event => 2 * fst e + (if snd e then 1 else 0)). split.
  - intros a b F Hb. destruct F as [i|i k Hk]; cbn [fst snd] in *; [lia|]. pose proof (earlier k i Hb Hk). lia.
  - assert (G : forall n i, ForallOrdPairs (fun a b : event => 2 * fst a + (if snd a then 1 else 0) < 2 * fst b + (if snd b then 1 else 0)) (one_by_one i n));
      [|apply G]. clear in_turn. induction n as [|n IH]; intros i; [constructor|]. change (one_by_one i (S n)) with ((i, false) :: (i, true) :: one_by_one (S i) n).
    assert (L : forall e, In e (one_by_one (S i) n) -> i < fst e) by (intros e He; apply in_one_by_one in He; lia).
    constructor; [|constructor; [|apply IH]]; rewrite Forall_forall; cbn [fst snd].
    + intros e [<-|He]; cbn [fst snd]; [lia|]. specialize (L e He). lia.
    + intros e He. specialize (L e He). lia.
Qed.

(** Of each transfer, those that happen before it, as the bits of a number. *)
Definition mask (known : list N) (ds : list nat) : N := fold_right (fun d m => N.setbit (N.lor m (nth d known 0%N)) (N.of_nat d)) 0%N ds.
Definition ancestors : list N := fold_left (fun known i => known ++ [mask known (of_number i)]) (seq 0 (length ts)) (@nil N).
Lemma mask_spec known ds k : N.testbit (mask known ds) (N.of_nat k) = true <-> exists d, In d ds /\ (k = d \/ N.testbit (nth d known 0%N) (N.of_nat k) = true).
Proof.
  induction ds as [|d ds IH]; cbn [mask fold_right]; [rewrite N.bits_0; split; [discriminate|intros [d [[] _]]]|]. fold (mask known ds).
  rewrite N.setbit_iff, N.lor_spec, orb_true_iff, IH. split.
  - intros [E|[[d' [A B]]|E]]; [exists d; split; [left; auto|left; lia]|exists d'; split; [right; auto|auto]|exists d; split; [left; auto|auto]].
  - intros [d' [[<-|A] B]]; [destruct B as [->|B]; auto|]. right. left. exists d'. auto.
Qed.
Lemma mask_prefix known more ds : (forall d, In d ds -> d < length known) -> mask (known ++ more) ds = mask known ds.
Proof.
  induction ds as [|d ds IH]; intros H; [reflexivity|]. cbn [mask fold_right]. fold (mask known ds). fold (mask (known ++ more) ds).
  rewrite IH by (intros; apply H; right; auto). rewrite app_nth1 by (apply H; left; auto). reflexivity.
Qed.
Lemma ancestors_nth i : i < length ts -> nth i ancestors 0%N = mask ancestors (of_number i).
Proof.
  assert (G : forall n, n <= length ts -> let l := fold_left (fun known i => known ++ [mask known (of_number i)]) (seq 0 n) (@nil N) in
    length l = n /\ forall i, i < n -> nth i l 0%N = mask l (of_number i)).
  { induction n as [|n IH]; intros Hn l; [split; [reflexivity|lia]|]. unfold l. rewrite seq_S, fold_left_app. cbn [fold_left plus].
    destruct (IH ltac:(lia)) as [A B]. set (p := fold_left _ (seq 0 n) (@nil N)) in *. split; [rewrite app_length, A; simpl; lia|].
    intros k Hk. destruct (Nat.eq_dec k n) as [->|Hne].
    - rewrite app_nth2, A, Nat.sub_diag by lia. cbn [nth]. symmetry. apply mask_prefix. intros d Hd. rewrite A. apply (earlier d n); auto; lia.
    - rewrite app_nth1, B by lia. symmetry. apply mask_prefix. intros d Hd. rewrite A. pose proof (earlier d k ltac:(lia) Hd). lia. }
  intros Hi. apply (proj2 (G (length ts) (le_n _)) i Hi).
Qed.
Lemma before_last k i : before ts of_number k i <-> i < length ts /\ exists d, In d (of_number i) /\ (k = d \/ before ts of_number k d).
Proof.
  split.
  - intros H. split; [apply (before_lt _ _ _ _ H)|]. induction H as [k i Hd Hi|k x i H1 IH1 H2 IH2]; [exists k; auto|].
    destruct IH2 as [d [Hd [->|B]]]; exists d; split; auto. right. apply (before_chain _ _ _ x); auto.
  - intros [Hi [d [Hd [->|B]]]]; [apply before_dep; auto|]. apply (before_chain _ _ _ d); auto. apply before_dep; auto.
Qed.
Definition happens_before (known : list N) (k i : nat) : bool := N.testbit (nth i known 0%N) (N.of_nat k).
Lemma happens_before_spec i k : i < length ts -> (happens_before ancestors k i = true <-> before ts of_number k i).
Proof.
  revert k. induction i as [i IH] using lt_wf_ind. intros k Hi. unfold happens_before. rewrite ancestors_nth, mask_spec, before_last by exact Hi.
  split; [intros [d [Hd H]]; split; [exact Hi|]|intros [_ [d [Hd H]]]]; exists d; split; auto; pose proof (earlier d i Hi Hd) as L;
    (destruct H as [->|H]; [left; reflexivity|right; apply (IH d L k ltac:(lia)), H]).
Qed.

Definition both_reduce (a b : transfer) : bool := match op a, op b with Reduce, Reduce => true | _, _ => false end.
Definition race_free : bool :=
  let known := ancestors in
  let all := map (fun i => (i, by_number ts i)) (seq 0 (length ts)) in
  forallb (fun p => let a := snd p in
    forallb (fun q => let b := snd q in
      (fst p =? fst q) || negb (same_slot (src a, what a) (slot b) || same_slot (slot a) (slot b) && negb (both_reduce a b)) ||
      happens_before known (fst p) (fst q) || happens_before known (fst q) (fst p)) all) all.
Lemma forallb_map {A B} (f : B -> bool) (g : A -> B) l : forallb f (map g l) = forallb (fun x => f (g x)) l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; reflexivity. Qed.
Lemma race_free_spec : race_free = true <-> no_race ts of_number.
Proof.
  unfold race_free. cbv zeta. rewrite forallb_map, forallb_forall. cbn [fst snd].
  assert (R : forall a b, both_reduce a b = true <-> op a = Reduce /\ op b = Reduce) by (intros a b; unfold both_reduce; destruct (op a), (op b); intuition congruence).
  split.
  - intros H i k Hi Hk Hne. specialize (H i ltac:(apply in_seq; lia)). rewrite forallb_map, forallb_forall in H. specialize (H k ltac:(apply in_seq; lia)). cbn [fst snd] in H.
    rewrite !orb_true_iff, negb_true_iff, orb_false_iff, Nat.eqb_eq, !happens_before_spec in H by assumption.
    destruct H as [[[H|[H1 H2]]|H]|H]; [congruence| |tauto|tauto]. split.
    + intros E. unfold reads, writes in E. apply same_slot_spec in E. congruence.
    + intros E N. unfold writes in E. apply same_slot_spec in E. rewrite E in H2. simpl in H2. apply negb_false_iff, R in H2. tauto.
  - intros H i Hi. apply in_seq in Hi. rewrite forallb_map, forallb_forall. intros k Hk. apply in_seq in Hk. cbn [fst snd].
    rewrite !orb_true_iff, negb_true_iff, orb_false_iff, Nat.eqb_eq, !happens_before_spec by lia.
    destruct (Nat.eq_dec i k) as [|Hne]; [auto|]. destruct (H i k ltac:(lia) ltac:(lia) Hne) as [H1 H2].
    destruct (same_slot (src (by_number ts i), what (by_number ts i)) (slot (by_number ts k))) eqn:E1.
    + apply same_slot_spec in E1. specialize (H1 E1). tauto.
    + destruct (same_slot (slot (by_number ts i)) (slot (by_number ts k))) eqn:E2; [|auto]. apply same_slot_spec in E2.
      destruct (both_reduce (by_number ts i) (by_number ts k)) eqn:E3; [auto|]. 
      assert (~ (op (by_number ts i) = Reduce /\ op (by_number ts k) = Reduce)) by (intros C; apply R in C; congruence). specialize (H2 E2 H0). tauto.
Qed.
End Decide.

Section Job.
Variable j : job.
Variable by_link : bool. (* link-rounds *)
Variable sch : list sent. (* its times are not looked at *)
Variable deps : list (list nat).
Definition in_order : list transfer := map (fun t => tr (data t)) sch.
Definition at_start : memory := Memory (lookup (pre j)) (fun _ => None) true.
Definition ends_well (m : memory) : Prop :=
  fine m = true /\ forall v k w, In ((v, k), w) (post j) -> exists got, now m v k = Some got /\ agrees j got w.
(** SPEC 2, 3.1, 5.3, 6: it can be carried out, has no race, and however it is carried out it ends well. *)
Definition right_in_order : Prop :=
  (forall t, In t sch -> round_well j by_link t) /\ (exists l, possible in_order (of_number deps) l) /\
  no_race in_order (of_number deps) /\
  forall l, possible in_order (of_number deps) l -> ends_well (run in_order at_start l).

Definition ends_wellb (m : memory) : bool :=
  fine m && forallb (fun e => match now m (fst (fst e)) (snd (fst e)) with Some got => agreesb j got (snd e) | None => false end) (post j).
Lemma ends_wellb_spec m : ends_wellb m = true <-> ends_well m.
Proof.
  unfold ends_wellb, ends_well. rewrite andb_true_iff, forallb_forall. split; intros [A B]; split; auto.
  - intros v k w Hin. specialize (B _ Hin). cbn [fst snd] in B. destruct (now m v k) as [got|]; [|discriminate]. exists got. split; auto. apply agreesb_spec, B.
  - intros [[v k] w] Hin. destruct (B v k w Hin) as [got [E G]]. cbn [fst snd]. rewrite E. apply agreesb_spec, G.
Qed.
Lemma ends_well_alike a b : alike a b -> ends_well a -> ends_well b.
Proof.
  intros [A [_ C]] [F G]. split; [congruence|]. intros v k w Hin. destruct (G v k w Hin) as [got [E H]]. exists got. rewrite <- A. auto.
Qed.
Definition replay_order : bool :=
  forallb (round_wellb j by_link) sch && race_free in_order deps && ends_wellb (run in_order at_start (one_by_one 0 (length in_order))).

(** Of transfers that are listed in an order that is possible, the function accepts just the right schedules. *)
Theorem replay_order_correct : listed in_order deps = true -> (replay_order = true <-> right_in_order).
Proof.
  intros L. pose proof (one_by_one_possible in_order deps L) as P. unfold replay_order. rewrite !andb_true_iff, forallb_forall, (race_free_spec _ _ L), ends_wellb_spec. split.
  - intros [[W N] E]. split; [intros t Ht; apply round_wellb_spec, W, Ht|]. split; [eauto|]. split; [exact N|].
    intros l Pl. apply (ends_well_alike (run in_order at_start (one_by_one 0 (length in_order)))); auto.
    apply (one_execution_decides in_order (of_number deps)); auto.
  - intros [W [_ [N E]]]. split; [split; auto|]; auto. intros t Ht. apply round_wellb_spec, W, Ht.
Qed.
End Job.
