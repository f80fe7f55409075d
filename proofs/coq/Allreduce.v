(** SPEC 10.6 is sound: a right schedule in rounds of an allreduce among all ranks gives an account as
    Contributions has it. Of a slot in which something is counted twice nothing is kept that came in since
    it last was right; what is right at the end misses none of it. Only rounds that move something count,
    and chunks are taken in the order in which rank 0 receives something of them. *)
From Coq Require Import Bool List ZArith Lia Permutation Sorted.
From Oraccl Require Lrat.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds RoundTime RoundRules Clauses Epochs Horizon Contributions.
Import ListNotations.
Open Scope Z_scope.

(** ** Lists *)

Fixpoint put_in (f : nat -> Z) (a : nat) (l : list nat) : list nat :=
  match l with [] => [a] | b :: l => if f a <=? f b then a :: b :: l else b :: put_in f a l end.
Lemma put_in_same f a l : Permutation (a :: l) (put_in f a l).
Proof.
  induction l as [|b l IH]; simpl; [apply Permutation_refl|]. destruct (f a <=? f b); [apply Permutation_refl|].
  eapply Permutation_trans; [apply perm_swap|]. apply perm_skip, IH.
Qed.
Definition no_later (f : nat -> Z) (a b : nat) : Prop := f a <= f b.
Lemma put_in_sorted f a l : StronglySorted (no_later f) l -> StronglySorted (no_later f) (put_in f a l).
Proof.
  induction l as [|b l IH]; intros S; simpl; [constructor; constructor|]. inversion S as [|? ? S1 S2]; subst. rewrite Forall_forall in S2.
  destruct (Z.leb_spec (f a) (f b)).
  - constructor; [exact S|]. rewrite Forall_forall. intros x [<-|Hx]; unfold no_later in *; [lia|]. specialize (S2 x Hx). lia.
  - constructor; [apply IH, S1|]. rewrite Forall_forall. intros x Hx. apply (Permutation_in _ (Permutation_sym (put_in_same f a l))) in Hx.
    destruct Hx as [<-|Hx]; unfold no_later in *; [lia|]. apply S2, Hx.
Qed.
Lemma sortable_by (f : nat -> Z) l : exists l', Permutation l l' /\ StronglySorted (no_later f) l'.
Proof.
  induction l as [|a l [l' [P S]]]; [exists []; split; constructor|]. exists (put_in f a l'). split; [|apply put_in_sorted, S].
  eapply Permutation_trans; [apply perm_skip, P|]. apply put_in_same.
Qed.
Lemma sorted_nth f l : StronglySorted (no_later f) l -> forall i k, (i < k < length l)%nat -> f (nth i l O) <= f (nth k l O).
Proof.
  induction 1 as [|a l S IH F]; simpl; intros i k [Hi Hk]; [lia|]. destruct k as [|k]; [lia|]. destruct i as [|i].
  - rewrite Forall_forall in F. apply F, nth_In. lia.
  - apply IH. lia.
Qed.
(** Chunks in the order of some number. *)
Lemma in_order_of (f : nat -> Z) n : exists p : nat -> nat, (forall k, (k < n)%nat -> (p k < n)%nat) /\
  (forall i k, (i < n)%nat -> (k < n)%nat -> p i = p k -> i = k) /\ (forall k, (S k < n)%nat -> f (p k) <= f (p (S k))).
Proof.
  destruct (sortable_by f (seq 0 n)) as [l [P S]]. assert (L : length l = n) by (rewrite <- (Permutation_length P); apply seq_length).
  exists (fun k => nth k l O). split; [|split].
  - intros k Hk. assert (Hin : In (nth k l O) (seq 0 n)) by (apply (Permutation_in _ (Permutation_sym P)), nth_In; lia). apply in_seq in Hin. lia.
  - intros i k Hi Hk E. apply (proj1 (NoDup_nth l O)); try lia. apply (Permutation_NoDup P), seq_NoDup.
  - intros k Hk. apply sorted_nth; auto. lia.
Qed.
Lemma nodup_keys {A B} (f : A -> B) l : NoDup l -> (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup (map f l).
Proof.
  induction 1 as [|a l Ha Nd IH]; intros Inj; simpl; constructor.
  - intros Hin. apply in_map_iff in Hin. destruct Hin as [b [E Hb]]. apply Ha. rewrite <- (Inj b a); simpl; auto.
  - apply IH. intros x y Hx Hy. apply Inj; right; auto.
Qed.
Lemma prefix_length Q n : (forall y, Q (S y) = true -> Q y = true) ->
  forall y, (y < length (filter Q (seq 0 n)))%nat <-> (y < n)%nat /\ Q y = true.
Proof.
  intros Down. induction n as [|n IH]; intros y; [simpl; lia|]. rewrite seq_S, filter_app, app_length. simpl.
  assert (All : Q n = true -> length (filter Q (seq 0 n)) = n).
  { intros E. assert (forall m, (m <= n)%nat -> Q m = true).
    { intros m Hm. replace m with (n - (n - m))%nat by lia. generalize (n - m)%nat as d. induction d as [|d IHd]; [replace (n - 0)%nat with n by lia; exact E|].
      destruct (Nat.le_gt_cases n d); [replace (n - S d)%nat with (n - d)%nat by lia; exact IHd|]. apply Down. replace (S (n - S d)) with (n - d)%nat by lia. exact IHd. }
    rewrite <- (seq_length n 0) at 2. f_equal. clear - H. assert (forall x, In x (seq 0 n) -> Q x = true) by (intros x Hx; apply in_seq in Hx; apply H; lia).
    clear H. induction (seq 0 n) as [|a l IH]; [reflexivity|]. simpl. rewrite (H0 a (or_introl eq_refl)), IH; [reflexivity|]. intros x Hx. apply H0. right. exact Hx. }
  specialize (IH y). destruct (Q n) eqn:E; simpl.
  - rewrite (All eq_refl). split; [|lia]. intros Hy. destruct (Nat.eq_dec y n) as [->|]; [auto|]. rewrite (All eq_refl) in IH. destruct (proj1 IH); [lia|]. auto.
  - rewrite Nat.add_0_r, IH. split; [intros [A B]; auto|]. intros [A B]. destruct (Nat.eq_dec y n) as [->|]; [congruence|]. split; [lia|exact B].
Qed.

Section Job.
Variable j : job.
Variable by_link : bool.
Variable h : Z.
Variable sch : list sent.
Notation N := (nodes j).
Notation K := (length (sizes j)).
Notation s := (system_of j (Rounds by_link) h 0).
Notation n := (RoundTime.how_many sch).
Notation moved := (moved sch).

(** ** What the problem asks *)

Definition starts_own : bool :=
  forallb (fun v => forallb (fun k => match lookup (pre j) v k with
    | Some w => forallb (fun c => (count w c =? (if (v =? c)%nat then 1 else 0))%nat) (seq 0 N)
    | None => false
    end) (seq 0 K)) (seq 0 N).
Definition ends_full : bool :=
  forallb (fun v => forallb (fun k => existsb (fun e => forallb (fun c => (count (snd e) c =? 1)%nat) (seq 0 N)) (said_at v k (post j))) (seq 0 K)) (seq 0 N).

Hypothesis own : starts_own = true.
Hypothesis full : ends_full = true.
Hypothesis good : right_in_rounds j by_link sch.
Hypothesis few : Z.of_nat (rounds (rounds_from sch 0 n)) <= h.
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.
Hypothesis goal : forall v k w, In ((v, k), w) (post j) -> exists got, H (makespan sch) v k = Some got /\ agrees j got w.

Lemma within t : In t sch -> 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1.
Proof. apply (round_within j by_link sch (proj1 good)). Qed.

(** ** A slot in one round *)

Definition read (x u k : nat) : value := match H (Z.of_nat x) u k with Some w => w | None => [] end.
Definition entering (x v k : nat) : list sent := filter (fun t => Timed.into v k (Z.of_nat (S x)) (data t)) sch.
Definition total (x k c : nat) (l : list sent) : nat := fold_right (fun t m => (count (read x (src (tr (data t))) k) c + m)%nat) O l.
Lemma entering_spec x v k t : In t (entering x v k) <-> In t sch /\ begins (data t) = Z.of_nat x /\ dst (tr (data t)) = v /\ what (tr (data t)) = k.
Proof.
  unfold entering, Timed.into. rewrite filter_In, andb_true_iff, same_slot_spec, Z.eqb_eq. unfold slot. split.
  - intros [Ht [E1 E2]]. destruct (within t Ht). injection E1 as <- <-. split; [exact Ht|]. split; [lia|auto].
  - intros [Ht [E1 [<- <-]]]. destruct (within t Ht). split; [exact Ht|]. split; [reflexivity|lia].
Qed.
Lemma all_reduce x k l : (forall t, In t l -> begins (data t) = Z.of_nat x /\ what (tr (data t)) = k /\ op (tr (data t)) = Reduce) ->
  forall acc w, fold_left (after H) (map data l) acc = Some w -> exists a, acc = Some a /\
    (forall t, In t l -> H (Z.of_nat x) (src (tr (data t))) k <> None) /\ forall c, count w c = (count a c + total x k c l)%nat.
Proof.
  induction l as [|t l IH]; intros Hl acc w E; cbn [map fold_left] in E.
  - exists w. split; [exact E|]. split; [intros t []|]. intros c. simpl. lia.
  - destruct (Hl t (or_introl eq_refl)) as [B [W O]]. destruct (IH (fun u Hu => Hl u (or_intror Hu)) _ _ E) as [a' [Ea [Rd Ct]]].
    unfold after, put in Ea. rewrite B, W, O in Ea. destruct (H (Z.of_nat x) (src (tr (data t))) k) as [b|] eqn:Eb; [|discriminate].
    destruct acc as [a|]; [|discriminate]. injection Ea as <-. exists a. split; [reflexivity|]. split.
    + intros u [<-|Hu]; [congruence|auto].
    + intros c. rewrite Ct, count_add. cbn [total fold_right]. fold (total x k c l).
      replace (read x (src (tr (data t))) k) with b by (unfold read; rewrite Eb; reflexivity). lia.
Qed.
Lemma slot_step x v k w : H (Z.of_nat (S x)) v k = Some w ->
  (entering x v k = [] /\ H (Z.of_nat x) v k = Some w) \/
  (exists t, entering x v k = [t] /\ op (tr (data t)) = Copy /\ H (Z.of_nat x) (src (tr (data t))) k = Some w) \/
  (exists a, (forall t, In t (entering x v k) -> op (tr (data t)) = Reduce /\ H (Z.of_nat x) (src (tr (data t))) k <> None) /\ H (Z.of_nat x) v k = Some a /\
    forall c, count w c = (count a c + total x k c (entering x v k))%nat).
Proof.
  intros Hw. destruct (proj2 exec (Z.of_nat (S x)) v k ltac:(lia)) as [A [B _]].
  replace (filter (Timed.into v k (Z.of_nat (S x))) (map data sch)) with (map data (entering x v k)) in A, B.
  2: { unfold entering. clear. induction sch as [|t l IH]; [reflexivity|]. cbn [map filter]. destruct (Timed.into v k _ (data t)); cbn [map]; congruence. }
  replace (Z.of_nat (S x) - 1) with (Z.of_nat x) in A by lia. rewrite Hw in A. symmetry in A.
  destruct (existsb (fun t => match op (tr (data t)) with Copy => true | Reduce => false end) (entering x v k)) eqn:Ec.
  - right. left. apply existsb_exists in Ec. destruct Ec as [t [Ht Ec]]. destruct (op (tr (data t))) eqn:O; [|discriminate].
    pose proof (B (data t) (in_map data _ _ Ht) O) as E. pose proof (proj1 (entering_spec x v k t) Ht) as [_ [Bt [_ Wt]]].
    destruct (entering x v k) as [|t' [|t'' l]]; [destruct Ht| |discriminate E]. destruct Ht as [->|[]]. exists t. split; [reflexivity|]. split; [exact O|].
    cbn [map fold_left] in A. unfold after, put in A. rewrite O, Bt, Wt in A. destruct (H (Z.of_nat x) (src (tr (data t))) k); [exact A|discriminate].
  - right. right. assert (R : forall t, In t (entering x v k) -> op (tr (data t)) = Reduce).
    { intros t Ht. destruct (op (tr (data t))) eqn:O; [|reflexivity]. enough (existsb (fun t => match op (tr (data t)) with Copy => true | Reduce => false end) (entering x v k) = true) by congruence.
      apply existsb_exists. exists t. rewrite O. auto. }
    destruct (all_reduce x k (entering x v k)) with (acc := H (Z.of_nat x) v k) (w := w) as [a [Ea [Rd Ct]]]; auto.
    + intros t Ht. pose proof (proj1 (entering_spec x v k t) Ht) as [_ [Bt [_ Wt]]]. auto.
    + exists a. auto.
Qed.
Lemma total_ge x k c l t : In t l -> (count (read x (src (tr (data t))) k) c <= total x k c l)%nat.
Proof. induction l as [|u l IH]; [intros []|]. cbn [total fold_right]. intros [->|Ht]; [lia|]. specialize (IH Ht). unfold total in IH. lia. Qed.
Lemma total_two x k c l t u : In t l -> In u l -> t <> u ->
  (count (read x (src (tr (data t))) k) c + count (read x (src (tr (data u))) k) c <= total x k c l)%nat.
Proof.
  induction l as [|y l IH]; [intros []|]. cbn [total fold_right]. fold (total x k c l). intros [->|Ht] [->|Hu] Ne; [congruence| | |].
  - pose proof (total_ge x k c l u Hu). lia.
  - pose proof (total_ge x k c l t Ht). lia.
  - specialize (IH Ht Hu Ne). lia.
Qed.
Lemma total_from x k c l : (0 < total x k c l)%nat -> exists t, In t l /\ (0 < count (read x (src (tr (data t))) k) c)%nat.
Proof.
  induction l as [|t l IH]; cbn [total fold_right]; [lia|]. fold (total x k c l). intros Pos.
  destruct (Nat.eq_0_gt_0_cases (count (read x (src (tr (data t))) k) c)) as [E|E]; [|exists t; simpl; auto].
  destruct IH as [u [Hu Eu]]; [lia|]. exists u. simpl. auto.
Qed.

(** ** What is right in a slot *)

Definition single (w : value) : bool := idempotent j || forallb (fun c => (count w c <=? 1)%nat) (seq 0 N).
Definition ok (x v k : nat) : bool := match H (Z.of_nat x) v k with Some w => single w | None => false end.
Definition has_now (x v k c : nat) : bool := containsb (read x v k) c.
Fixpoint clean (x v k c : nat) : bool :=
  match x with O => has_now O v k c | S y => if ok x v k then has_now x v k c else clean y v k c end.
Definition kept (t : sent) : bool := ok (S (Z.to_nat (begins (data t)))) (dst (tr (data t))) (what (tr (data t))).

Lemma clean_ok x v k c : ok x v k = true -> clean x v k c = has_now x v k c.
Proof. destruct x; simpl; [reflexivity|]. intros ->. reflexivity. Qed.
Lemma single_part w a : (forall c, count a c <= count w c)%nat -> single w = true -> single a = true.
Proof.
  unfold single. intros L. destruct (idempotent j); [reflexivity|]. simpl. rewrite !forallb_forall. intros S c Hc. specialize (S c Hc).
  rewrite Nat.leb_le in *. specialize (L c). lia.
Qed.
Lemma ok_some x v k : ok x v k = true -> exists w, H (Z.of_nat x) v k = Some w /\ single w = true.
Proof. unfold ok. destruct (H (Z.of_nat x) v k); [eauto|discriminate]. Qed.
Lemma has_now_spec x v k w c : H (Z.of_nat x) v k = Some w -> has_now x v k c = containsb w c.
Proof. unfold has_now, read. intros ->. reflexivity. Qed.

Lemma copied x t c : In t sch -> begins (data t) = Z.of_nat x -> op (tr (data t)) = Copy -> kept t = true ->
  clean (S x) (dst (tr (data t))) (what (tr (data t))) c = clean x (src (tr (data t))) (what (tr (data t))) c.
Proof.
  intros Ht Bt O Kt. unfold kept in Kt. rewrite Bt, Nat2Z.id in Kt. destruct (ok_some _ _ _ Kt) as [w [Hw Sw]].
  assert (Hin : In t (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  destruct (slot_step _ _ _ _ Hw) as [[E _]|[[u [E [_ Hu]]]|[a [R _]]]].
  - rewrite E in Hin. destruct Hin.
  - rewrite E in Hin. destruct Hin as [->|[]]. rewrite clean_ok by exact Kt. rewrite clean_ok by (unfold ok; rewrite Hu; exact Sw).
    rewrite (has_now_spec _ _ _ _ _ Hw), (has_now_spec _ _ _ _ _ Hu). reflexivity.
  - destruct (R t Hin). congruence.
Qed.
Lemma copy_alone x t u : In t sch -> In u sch -> begins (data t) = Z.of_nat x -> begins (data u) = Z.of_nat x -> dst (tr (data u)) = dst (tr (data t)) ->
  what (tr (data u)) = what (tr (data t)) -> op (tr (data t)) = Copy -> kept t = true -> u = t.
Proof.
  intros Ht Hu Bt Bu Ed Ew O Kt. unfold kept in Kt. rewrite Bt, Nat2Z.id in Kt. destruct (ok_some _ _ _ Kt) as [w [Hw _]].
  assert (Hin : In t (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  assert (Hin' : In u (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  destruct (slot_step _ _ _ _ Hw) as [[E _]|[[y [E _]]|[a [R _]]]].
  - rewrite E in Hin. destruct Hin.
  - rewrite E in Hin, Hin'. destruct Hin as [->|[]], Hin' as [->|[]]. reflexivity.
  - destruct (R t Hin). congruence.
Qed.
(** Into a slot that is kept: its parts are right, too. *)
Lemma reduced x t : In t sch -> begins (data t) = Z.of_nat x -> op (tr (data t)) = Reduce -> kept t = true ->
  let v := dst (tr (data t)) in let k := what (tr (data t)) in
  exists w a, H (Z.of_nat (S x)) v k = Some w /\ single w = true /\ H (Z.of_nat x) v k = Some a /\ ok x v k = true /\
    (forall c, count w c = (count a c + total x k c (entering x v k))%nat) /\
    forall u, In u (entering x v k) -> ok x (src (tr (data u))) k = true.
Proof.
  intros Ht Bt O Kt v k. unfold kept in Kt. rewrite Bt, Nat2Z.id in Kt. fold v k in Kt. destruct (ok_some _ _ _ Kt) as [w [Hw Sw]].
  assert (Hin : In t (entering x v k)) by (apply entering_spec; auto).
  destruct (slot_step _ _ _ _ Hw) as [[E _]|[[y [E [Oy _]]]|[a [R [Ha Ct]]]]].
  - rewrite E in Hin. destruct Hin.
  - rewrite E in Hin. destruct Hin as [->|[]]. congruence.
  - exists w, a. split; [exact Hw|]. split; [exact Sw|]. split; [exact Ha|]. split.
    + unfold ok. rewrite Ha. apply (single_part w); auto. intros c. rewrite Ct. lia.
    + split; [exact Ct|]. intros u Hu. destruct (R u Hu) as [_ Hn]. unfold ok. destruct (H (Z.of_nat x) (src (tr (data u))) k) as [b|] eqn:Eb; [|congruence].
      apply (single_part w); auto. intros c. rewrite Ct. pose proof (total_ge x k c _ u Hu) as L. unfold read in L. rewrite Eb in L. lia.
Qed.
Lemma contains_pos w c : containsb w c = true <-> (0 < count w c)%nat.
Proof. unfold containsb. apply Nat.ltb_lt. Qed.
Lemma single_le w c : idempotent j = false -> (c < N)%nat -> single w = true -> (count w c <= 1)%nat.
Proof. unfold single. intros -> Hc. simpl. rewrite forallb_forall. intros S. apply Nat.leb_le, S, in_seq. lia. Qed.
Lemma source_counts x u k c : ok x u k = true -> clean x u k c = true -> (0 < count (read x u k) c)%nat.
Proof. intros O E. rewrite clean_ok in E by exact O. apply contains_pos, E. Qed.

Lemma added x t c : In t sch -> begins (data t) = Z.of_nat x -> op (tr (data t)) = Reduce -> kept t = true ->
  clean x (src (tr (data t))) (what (tr (data t))) c = true -> clean (S x) (dst (tr (data t))) (what (tr (data t))) c = true.
Proof.
  intros Ht Bt O Kt Ec. destruct (reduced x t Ht Bt O Kt) as [w [a [Hw [Sw [Ha [Oa [Ct Os]]]]]]].
  assert (Hin : In t (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  rewrite clean_ok by (unfold ok; rewrite Hw; exact Sw). rewrite (has_now_spec _ _ _ _ _ Hw). apply contains_pos. rewrite Ct.
  pose proof (total_ge x (what (tr (data t))) c _ t Hin). pose proof (source_counts _ _ _ _ (Os t Hin) Ec). lia.
Qed.
Lemma added_new x t c : idempotent j = false -> (c < N)%nat -> In t sch -> begins (data t) = Z.of_nat x -> op (tr (data t)) = Reduce -> kept t = true ->
  clean x (src (tr (data t))) (what (tr (data t))) c = true -> clean x (dst (tr (data t))) (what (tr (data t))) c = false.
Proof.
  intros Id Hc Ht Bt O Kt Ec. destruct (reduced x t Ht Bt O Kt) as [w [a [Hw [Sw [Ha [Oa [Ct Os]]]]]]].
  assert (Hin : In t (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  apply not_true_is_false. intros E. pose proof (source_counts _ _ _ _ Oa E) as P. unfold read in P. rewrite Ha in P.
  pose proof (total_ge x (what (tr (data t))) c _ t Hin). pose proof (source_counts _ _ _ _ (Os t Hin) Ec). pose proof (single_le w c Id Hc Sw). specialize (Ct c). lia.
Qed.
Lemma added_others x t u c : idempotent j = false -> (c < N)%nat -> In t sch -> In u sch -> begins (data t) = Z.of_nat x -> begins (data u) = Z.of_nat x ->
  dst (tr (data u)) = dst (tr (data t)) -> what (tr (data u)) = what (tr (data t)) -> op (tr (data t)) = Reduce -> kept t = true -> t <> u ->
  clean x (src (tr (data t))) (what (tr (data t))) c = true -> clean x (src (tr (data u))) (what (tr (data t))) c = false.
Proof.
  intros Id Hc Ht Hu Bt Bu Ed Ew O Kt Ne Ec. destruct (reduced x t Ht Bt O Kt) as [w [a [Hw [Sw [Ha [Oa [Ct Os]]]]]]].
  assert (Hin : In t (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  assert (Hin' : In u (entering x (dst (tr (data t))) (what (tr (data t))))) by (apply entering_spec; auto).
  apply not_true_is_false. intros E. pose proof (source_counts _ _ _ _ (Os u Hin') E). pose proof (source_counts _ _ _ _ (Os t Hin) Ec).
  pose proof (total_two x (what (tr (data t))) c _ t u Hin Hin' Ne). pose proof (single_le w c Id Hc Sw). specialize (Ct c). lia.
Qed.
Lemma clean_stays x v k c : clean x v k c = true -> clean (S x) v k c = true \/
  exists t, In t sch /\ begins (data t) = Z.of_nat x /\ dst (tr (data t)) = v /\ what (tr (data t)) = k /\ op (tr (data t)) = Copy /\ kept t = true.
Proof.
  intros E. cbn [clean]. destruct (ok (S x) v k) eqn:Ok; [|left; exact E]. destruct (ok_some _ _ _ Ok) as [w [Hw Sw]].
  destruct (slot_step _ _ _ _ Hw) as [[En Hx]|[[t [En [O _]]]|[a [R [Ha Ct]]]]].
  - left. rewrite clean_ok in E by (unfold ok; rewrite Hx; exact Sw). rewrite (has_now_spec _ _ _ _ _ Hw), <- (has_now_spec _ _ _ _ _ Hx). exact E.
  - right. exists t. assert (Hin : In t (entering x v k)) by (rewrite En; left; auto). apply entering_spec in Hin. destruct Hin as [Ht [Bt [Dt Wt]]].
    repeat (split; [assumption|]). unfold kept. rewrite Bt, Nat2Z.id, Dt, Wt. exact Ok.
  - left. rewrite (has_now_spec _ _ _ _ _ Hw). apply contains_pos. rewrite Ct.
    assert (Oa : ok x v k = true) by (unfold ok; rewrite Ha; apply (single_part w); auto; intros c'; rewrite Ct; lia).
    pose proof (source_counts _ _ _ _ Oa E) as P. unfold read in P. rewrite Ha in P. lia.
Qed.
Lemma clean_came x v k c : clean (S x) v k c = true -> clean x v k c = true \/
  exists t, In t sch /\ begins (data t) = Z.of_nat x /\ dst (tr (data t)) = v /\ what (tr (data t)) = k /\ kept t = true /\ clean x (src (tr (data t))) k c = true.
Proof.
  intros E. cbn [clean] in E. destruct (ok (S x) v k) eqn:Ok; [|left; exact E]. destruct (ok_some _ _ _ Ok) as [w [Hw Sw]]. rewrite (has_now_spec _ _ _ _ _ Hw) in E.
  assert (Kept : forall t, In t (entering x v k) -> kept t = true).
  { intros t Ht. apply entering_spec in Ht. destruct Ht as [_ [Bt [Dt Wt]]]. unfold kept. rewrite Bt, Nat2Z.id, Dt, Wt. exact Ok. }
  destruct (slot_step _ _ _ _ Hw) as [[En Hx]|[[t [En [O Hu]]]|[a [R [Ha Ct]]]]].
  - left. rewrite clean_ok by (unfold ok; rewrite Hx; exact Sw). rewrite (has_now_spec _ _ _ _ _ Hx). exact E.
  - right. exists t. assert (Hin : In t (entering x v k)) by (rewrite En; left; auto). pose proof (Kept t Hin). apply entering_spec in Hin. destruct Hin as [Ht [Bt [Dt Wt]]].
    repeat (split; [assumption|]). rewrite clean_ok by (unfold ok; rewrite Hu; exact Sw). rewrite (has_now_spec _ _ _ _ _ Hu). exact E.
  - apply contains_pos in E. rewrite Ct in E. destruct (Nat.eq_0_gt_0_cases (count a c)) as [Z0|P].
    + right. destruct (total_from x k c (entering x v k)) as [t [Hin Pt]]; [lia|]. pose proof (Kept t Hin) as Kt. exists t.
      destruct (R t Hin) as [_ Hn]. pose proof (proj1 (entering_spec x v k t) Hin) as [Ht [Bt [Dt Wt]]]. repeat (split; [assumption|]).
      rewrite clean_ok; [apply contains_pos, Pt|]. unfold ok. destruct (H (Z.of_nat x) (src (tr (data t))) k) as [b|] eqn:Eb; [|congruence].
      apply (single_part w); auto. intros c'. rewrite Ct. pose proof (total_ge x k c' _ t Hin) as L. unfold read in L. rewrite Eb in L. lia.
    + left. rewrite clean_ok by (unfold ok; rewrite Ha; apply (single_part w); auto; intros c'; rewrite Ct; lia).
      rewrite (has_now_spec _ _ _ _ _ Ha). apply contains_pos, P.
Qed.
Lemma clean_idle x v k c : (forall t, In t sch -> begins (data t) <> Z.of_nat x) -> clean (S x) v k c = clean x v k c.
Proof.
  intros No. apply eq_true_iff_eq. split; intros E.
  - destruct (clean_came x v k c E) as [|[t [Ht [Bt _]]]]; [assumption|]. destruct (No t Ht Bt).
  - destruct (clean_stays x v k c E) as [|[t [Ht [Bt _]]]]; [assumption|]. destruct (No t Ht Bt).
Qed.

(** ** Rounds that move something *)

Definition counted (y : nat) : nat := rounds (rounds_from sch 0 y).
(** When the round of this number begins; the end, if there are no more. *)
Definition at_round (e : nat) : nat := length (filter (fun y => (counted (S y) <=? e)%nat) (seq 0 n)).
Lemma counted_up a b : (a <= b)%nat -> (counted a <= counted b)%nat.
Proof.
  intros L. pose proof (moved_later sch (Z.of_nat a) (Z.of_nat b) ltac:(lia)) as M. unfold Horizon.moved in M. rewrite !Nat2Z.id in M. unfold counted. lia.
Qed.
Lemma moved_counted t : In t sch -> moved (begins (data t)) = Z.of_nat (counted (Z.to_nat (begins (data t)))) /\
  counted (S (Z.to_nat (begins (data t)))) = S (counted (Z.to_nat (begins (data t)))) /\ (Z.to_nat (begins (data t)) < n)%nat.
Proof.
  intros Ht. destruct (within t Ht) as [B E]. pose proof (moved_next sch t Ht B) as M. pose proof (ends_makespan sch t Ht).
  unfold Horizon.moved in *. replace (Z.to_nat (begins (data t) + 1)) with (S (Z.to_nat (begins (data t)))) in M by lia. unfold counted, RoundTime.how_many. lia.
Qed.
Lemma at_spec e y : (y < at_round e)%nat <-> (y < n)%nat /\ (counted (S y) <= e)%nat.
Proof.
  unfold at_round. rewrite (prefix_length (fun y => (counted (S y) <=? e)%nat)); [rewrite Nat.leb_le; reflexivity|].
  intros x. rewrite !Nat.leb_le. pose proof (counted_up (S x) (S (S x)) ltac:(lia)). lia.
Qed.
Lemma not_yet e : (at_round e < n)%nat -> (e < counted (S (at_round e)))%nat.
Proof.
  intros L. destruct (Nat.lt_ge_cases e (counted (S (at_round e)))) as [|C]; auto. pose proof (proj2 (at_spec e (at_round e)) (conj L C)). lia.
Qed.
Lemma just_then e : (counted (at_round e) <= e)%nat.
Proof.
  destruct (at_round e) as [|y] eqn:Ex; [apply Nat.le_0_l|]. apply (at_spec e y). lia.
Qed.
Lemma at_moved t : In t sch -> at_round (Z.to_nat (moved (begins (data t)))) = Z.to_nat (begins (data t)).
Proof.
  intros Ht. destruct (moved_counted t Ht) as [-> [E L]]. rewrite Nat2Z.id. set (b := Z.to_nat (begins (data t))) in *. set (e := counted b) in *.
  destruct (Nat.lt_trichotomy (at_round e) b) as [C|[C|C]]; auto; exfalso.
  - pose proof (proj2 (at_spec e (at_round e))) as A. pose proof (counted_up (S (at_round e)) b C). fold e in H0. lia.
  - apply at_spec in C. lia.
Qed.
Lemma moved_at t e : In t sch -> begins (data t) = Z.of_nat (at_round e) -> moved (begins (data t)) = Z.of_nat e.
Proof.
  intros Ht B. destruct (moved_counted t Ht) as [-> [E L]]. rewrite B, Nat2Z.id in E, L. rewrite B, Nat2Z.id. f_equal.
  pose proof (not_yet e L). pose proof (just_then e). lia.
Qed.
Lemma at_most_n e : (at_round e <= n)%nat.
Proof. destruct (Nat.le_gt_cases (at_round e) n) as [|L]; auto. apply at_spec in L. lia. Qed.
Lemma at_last e : (counted n <= e)%nat -> at_round e = n.
Proof.
  intros L. destruct (Nat.eq_dec (at_round e) n) as [|Ne]; auto. exfalso. pose proof (at_most_n e).
  assert ((at_round e < at_round e)%nat); [|lia]. apply at_spec. split; [lia|]. pose proof (counted_up (S (at_round e)) n ltac:(lia)). lia.
Qed.
Lemma at_up e : (at_round e <= at_round (S e))%nat.
Proof.
  destruct (Nat.le_gt_cases (at_round e) (at_round (S e))) as [|L]; auto. exfalso.
  apply at_spec in L. assert ((at_round (S e) < at_round (S e))%nat); [|lia]. apply at_spec. lia.
Qed.
Lemma clean_many d : forall x v k c, (forall y t, (x <= y < x + d)%nat -> In t sch -> begins (data t) <> Z.of_nat y) -> clean (x + d) v k c = clean x v k c.
Proof.
  induction d as [|d IH]; intros x v k c No; [f_equal; lia|]. replace (x + S d)%nat with (S (x + d)) by lia.
  rewrite clean_idle by (intros t; apply No; lia). apply IH. intros y t Hy. apply No. lia.
Qed.
(** From one such round to the next. *)
Lemma clean_next e v k c : (at_round e < n)%nat -> clean (at_round (S e)) v k c = clean (S (at_round e)) v k c.
Proof.
  intros L. pose proof (at_up e). set (x := at_round e) in *.
  pose proof (not_yet e L) as C. fold x in C.
  assert (Lt : (x < at_round (S e))%nat).
  { apply at_spec. split; [exact L|]. pose proof (just_then e) as J. fold x in J.
    unfold counted in *. unfold rounds_from in *. rewrite seq_S, map_app. unfold rounds in *. rewrite filter_app, app_length. cbn [map filter].
    destruct (moves _); cbn [length]; lia. }
  replace (at_round (S e)) with (S x + (at_round (S e) - S x))%nat at 1 by lia. apply clean_many.
  intros y t Hy Ht Bt. destruct (moved_counted t Ht) as [_ [Ec _]]. rewrite Bt, Nat2Z.id in Ec.
  assert (Hy' : (y < at_round (S e))%nat) by lia. apply at_spec in Hy'. pose proof (counted_up (S x) y ltac:(lia)). lia.
Qed.

(** ** The account *)

Definition op_number (t : sent) : nat := match op (tr (data t)) with Copy => 0%nat | Reduce => 1%nat end.
Definition arc_number (t : sent) : nat := place (the_leg_arc j (Rounds by_link) (leg_in_round t)) (arcs s).
Lemma arc_of_sent t : In t sch -> arc_at (arcs s) (arc_number t) = the_leg_arc j (Rounds by_link) (leg_in_round t) /\ (arc_number t < length (arcs s))%nat.
Proof.
  intros Ht. destruct (leg_known j by_link h 0 sch (proj1 good) (leg_in_round t) (in_map leg_in_round _ _ Ht)) as [_ Hin].
  destruct (place_spec _ _ (Arc 0 0 []) Hin) as [A B]. split; [exact B|exact A].
Qed.
Lemma tail_of_sent t : In t sch -> tail (arcs s) (arc_number t) = src (tr (data t)).
Proof. intros Ht. unfold tail. rewrite (proj1 (arc_of_sent t Ht)). reflexivity. Qed.
Lemma head_of_sent t : In t sch -> head (arcs s) (arc_number t) = dst (tr (data t)).
Proof. intros Ht. unfold head. rewrite (proj1 (arc_of_sent t Ht)). reflexivity. Qed.

(** The round in which rank 0 first receives something of a chunk; the horizon if it does not. *)
Definition first_got (k : nat) : Z :=
  fold_right (fun t m => if (what (tr (data t)) =? k)%nat && (dst (tr (data t)) =? 0)%nat && kept t then Z.min (moved (begins (data t))) m else m) h sch.
Lemma first_got_lt k e : e <= h -> (first_got k <? e = true <-> exists t, In t sch /\ what (tr (data t)) = k /\ dst (tr (data t)) = O /\ kept t = true /\ moved (begins (data t)) < e).
Proof.
  intros He. rewrite Z.ltb_lt. unfold first_got. generalize moved as m. generalize sch as ts. intros ts m. induction ts as [|t l IH]; cbn [fold_right].
  - split; [lia|intros [t [[] _]]].
  - destruct ((what (tr (data t)) =? k)%nat && (dst (tr (data t)) =? 0)%nat && kept t) eqn:E.
    + rewrite !andb_true_iff, !Nat.eqb_eq in E. rewrite Z.min_lt_iff, IH. split.
      * intros [L|[u [Hu Q]]]; [exists t; simpl; tauto|exists u; simpl; tauto].
      * intros [u [[<-|Hu] Q]]; [tauto|right; exists u; tauto].
    + rewrite IH. split; intros [u [Hu Q]]; exists u; [simpl; tauto|]. destruct Hu as [<-|Hu]; [|tauto].
      destruct Q as [<- [E0 [Ek _]]]. rewrite E0, Ek, Nat.eqb_refl in E. discriminate.
Qed.

Section Order.
Variable p : nat -> nat.
Hypothesis p_in : forall k, (k < K)%nat -> (p k < K)%nat.
Hypothesis p_once : forall i k, (i < K)%nat -> (k < K)%nat -> p i = p k -> i = k.
Hypothesis p_sorted : forall k, (S k < K)%nat -> first_got (p k) <= first_got (p (S k)).

Definition V (k v c : nat) (e : Z) : bool := if e =? 0 then (v =? c)%nat else clean (at_round (Z.to_nat e)) v (p k) c.
Definition acts (o k a : nat) (e : Z) (t : sent) : bool :=
  (what (tr (data t)) =? p k)%nat && (op_number t =? o)%nat && (arc_number t =? a)%nat && (moved (begins (data t)) =? e) && kept t.
Definition act (o k a : nat) (e : Z) : bool := existsb (acts o k a e) sch.
Definition G (k : nat) (e : Z) : bool := (first_got (p k) <? e) && (0 <=? e) && (e <=? h).
Lemma act_spec o k a e : act o k a e = true <->
  exists t, In t sch /\ what (tr (data t)) = p k /\ op_number t = o /\ arc_number t = a /\ moved (begins (data t)) = e /\ kept t = true.
Proof.
  unfold act. rewrite existsb_exists. unfold acts. split; intros [t [Ht E]]; exists t; (split; [exact Ht|]);
    rewrite !andb_true_iff, !Nat.eqb_eq, Z.eqb_eq in *; tauto.
Qed.
Lemma moved_0 t : In t sch -> 0 <= moved (begins (data t)).
Proof. intros Ht. unfold Horizon.moved. lia. Qed.
Lemma begins_at t e : In t sch -> 0 <= e -> moved (begins (data t)) = e -> begins (data t) = Z.of_nat (at_round (Z.to_nat e)) /\ (at_round (Z.to_nat e) < n)%nat.
Proof.
  intros Ht He E. pose proof (at_moved t Ht) as A. rewrite E in A. rewrite A. destruct (moved_counted t Ht) as [_ [_ L]]. destruct (within t Ht). lia.
Qed.
Lemma at_start v k c : (v < N)%nat -> (k < K)%nat -> (c < N)%nat -> clean (at_round 0) v k c = (v =? c)%nat.
Proof.
  intros Hv Hk Hc. rewrite <- (Nat.add_0_l (at_round 0)). rewrite clean_many.
  - cbn [clean]. unfold has_now, read. rewrite (proj1 exec). unfold starts_own in own. rewrite forallb_forall in own. specialize (own v ltac:(apply in_seq; lia)).
    rewrite forallb_forall in own. specialize (own k ltac:(apply in_seq; lia)). destruct (lookup (pre j) v k) as [w|]; [|discriminate].
    rewrite forallb_forall in own. specialize (own c ltac:(apply in_seq; lia)). apply Nat.eqb_eq in own. unfold containsb. rewrite own. destruct (v =? c)%nat; reflexivity.
  - intros y t Hy Ht Bt. destruct (moved_counted t Ht) as [_ [Ec _]]. rewrite Bt, Nat2Z.id in Ec.
    assert (Hy' : (y < at_round 0)%nat) by lia. apply at_spec in Hy'. lia.
Qed.
Lemma V_clean k v c e : (k < K)%nat -> (v < N)%nat -> (c < N)%nat -> 0 <= e -> V k v c e = clean (at_round (Z.to_nat e)) v (p k) c.
Proof. intros Hk Hv Hc He. unfold V. destruct (Z.eqb_spec e 0) as [->|]; [|reflexivity]. symmetry. apply at_start; auto. Qed.
Lemma V_next k v c e : 0 <= e -> V k v c (e + 1) = if (at_round (Z.to_nat e) <? n)%nat then clean (S (at_round (Z.to_nat e))) v (p k) c else clean (at_round (Z.to_nat e)) v (p k) c.
Proof.
  intros He. unfold V. rewrite (proj2 (Z.eqb_neq _ _)) by lia. replace (Z.to_nat (e + 1)) with (S (Z.to_nat e)) by lia.
  destruct (Nat.ltb_spec (at_round (Z.to_nat e)) n) as [L|L]; [apply clean_next, L|].
  f_equal. pose proof (at_most_n (Z.to_nat e)). pose proof (at_up (Z.to_nat e)). pose proof (at_most_n (S (Z.to_nat e))). lia.
Qed.
Lemma round_limit g l k k' a : In g (limits s) -> In l g -> spans l k a = spans l k' a /\ forall q, In q (spans l k a) -> q = (0, 1).
Proof.
  intros Hg Hl. assert (Lb : by_link = true \/ by_link = false) by (clear; destruct by_link; auto). destruct Lb as [E|E]; rewrite E in Hg; cbn [limits system_of] in Hg.
  - apply in_app_or in Hg. destruct Hg as [Hg|Hg]; apply in_map_iff in Hg; destruct Hg as [b [<- _]]; destruct Hl as [<-|[]];
      cbn [of_bundle of_port at_places spans place_spans]; (split; [reflexivity|]); intros q Hq; apply in_flat_map in Hq; destruct Hq as [w [Hw Hq]];
      apply in_map_iff in Hw; destruct Hw as [i [<- _]]; cbn [fst snd] in Hq; [destruct (b =? i)%nat|destruct (existsb (Nat.eqb i) (fst b))]; simpl in Hq; intuition congruence.
  - apply in_map_iff in Hg. destruct Hg as [v [<- _]]. destruct Hl as [<-|[<-|[]]]; cbn [of_rank spans]; (split; [reflexivity|]); intros q Hq;
      [destruct (tail_of a =? v)%nat|destruct (head_of a =? v)%nat]; simpl in Hq; intuition congruence.
Qed.

Lemma the_account same : account K N (arcs s) h (idempotent j) same (limits s) V act G.
Proof.
  assert (Src : forall t, In t sch -> (src (tr (data t)) < N)%nat /\ (dst (tr (data t)) < N)%nat).
  { intros t Ht. destruct (proj1 good t Ht) as [[_ [A [B _]]] _]. auto. }
  assert (Ck : forall t k, In t sch -> what (tr (data t)) = p k -> (what (tr (data t)) < K)%nat) by (intros t k Ht _; apply (proj1 good t Ht)).
  constructor.
  - intros k v c. reflexivity.
  - intros k v c Hk Hv Hc. assert (h0 : 0 <= h) by lia. rewrite V_clean by auto. rewrite at_last by (unfold counted; lia).
    unfold ends_full in full. rewrite forallb_forall in full. specialize (full v ltac:(apply in_seq; lia)).
    rewrite forallb_forall in full. pose proof (p_in k Hk). specialize (full (p k) ltac:(apply in_seq; lia)). apply existsb_exists in full.
    destruct full as [[[v' k'] w] [Hin Fw]]. unfold said_at in Hin. apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin E].
    apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [-> ->]. rewrite forallb_forall in Fw.
    destruct (goal _ _ _ Hin) as [got [Hgot Ag]]. assert (En : Z.of_nat n = makespan sch) by (unfold RoundTime.how_many; pose proof (makespan_0 sch); lia).
    rewrite <- En in Hgot. assert (Cg : forall c, (c < N)%nat -> (0 < count got c)%nat /\ (idempotent j = false -> count got c = 1%nat)).
    { intros c' Hc'. specialize (Fw c' ltac:(apply in_seq; lia)). apply Nat.eqb_eq in Fw. specialize (Ag c'). destruct (idempotent j); [split; [lia|discriminate]|lia]. }
    rewrite clean_ok.
    + rewrite (has_now_spec _ _ _ _ _ Hgot). apply contains_pos, Cg, Hc.
    + unfold ok. rewrite Hgot. unfold single. destruct (idempotent j); [reflexivity|]. simpl. apply forallb_forall. intros c' Hc'. apply in_seq in Hc'.
      destruct (Cg c' ltac:(lia)) as [_ E]. rewrite (E eq_refl). reflexivity.
  - intros o k a b e Ea Eb Eh. apply act_spec in Ea, Eb. destruct Ea as [t [Ht [Wt [Ot [At [Mt Kt]]]]]], Eb as [u [Hu [Wu [Ou [Au [Mu Ku]]]]]].
    pose proof (moved_0 t Ht) as E0. rewrite Mt in E0. destruct (begins_at t e Ht E0 Mt) as [Bt _]. destruct (begins_at u e Hu E0 Mu) as [Bu _].
    subst a b. rewrite !head_of_sent in Eh by auto.
    assert (Oc : op (tr (data t)) = Copy) by (unfold op_number in Ot; destruct (op (tr (data t))); [reflexivity|discriminate]).
    assert (u = t) by (apply (copy_alone (at_round (Z.to_nat e))); auto; congruence). subst u. split; [congruence|reflexivity].
  - intros k a c e He Hc Ea. apply act_spec in Ea. destruct Ea as [t [Ht [Wt [Ot [At [Mt Kt]]]]]]. destruct (begins_at t e Ht ltac:(lia) Mt) as [Bt Lt].
    subst a. rewrite head_of_sent, tail_of_sent by auto. rewrite V_next by lia. rewrite (proj2 (Nat.ltb_lt _ _) Lt).
    assert (Oc : op (tr (data t)) = Copy) by (unfold op_number in Ot; destruct (op (tr (data t))); [reflexivity|discriminate]).
    destruct (Nat.lt_ge_cases k K) as [Hk|Hk]; [|].
    + rewrite V_clean by (auto; try apply Src; auto; lia). rewrite <- Wt. apply copied; auto.
    + destruct (Z.eq_dec e 0) as [->|Ne]; [|unfold V; rewrite (proj2 (Z.eqb_neq _ _) Ne), <- Wt; apply copied; auto].
      unfold V. cbn [Z.eqb]. rewrite <- (at_start (src (tr (data t))) (what (tr (data t))) c); [rewrite <- Wt; apply copied; auto|apply Src, Ht|apply (proj1 good t Ht)|exact Hc].
  - intros k a c e He Hc Ea Ev. apply act_spec in Ea. destruct Ea as [t [Ht [Wt [Ot [At [Mt Kt]]]]]]. destruct (begins_at t e Ht ltac:(lia) Mt) as [Bt Lt].
    subst a. rewrite head_of_sent, tail_of_sent in * by auto. rewrite V_next by lia. rewrite (proj2 (Nat.ltb_lt _ _) Lt). rewrite <- Wt.
    assert (Oc : op (tr (data t)) = Reduce) by (unfold op_number in Ot; destruct (op (tr (data t))); [discriminate|reflexivity]).
    apply added; auto. rewrite Wt. unfold V in Ev. destruct (Z.eqb_spec e 0) as [->|]; [|exact Ev]. rewrite <- Wt, at_start; auto; [apply Src, Ht|apply (proj1 good t Ht)].
  - intros k a c e Id He Hc Ea Ev. apply act_spec in Ea. destruct Ea as [t [Ht [Wt [Ot [At [Mt Kt]]]]]]. destruct (begins_at t e Ht ltac:(lia) Mt) as [Bt Lt].
    subst a. rewrite head_of_sent, tail_of_sent in * by auto.
    assert (Oc : op (tr (data t)) = Reduce) by (unfold op_number in Ot; destruct (op (tr (data t))); [discriminate|reflexivity]).
    destruct (Src t Ht) as [R1 R2]. assert (Kp : (p k < K)%nat) by (rewrite <- Wt; apply (proj1 good t Ht)).
    assert (Vc : forall v, (v < N)%nat -> V k v c e = clean (at_round (Z.to_nat e)) v (what (tr (data t))) c).
    { intros v Hv. unfold V. rewrite Wt. destruct (Z.eqb_spec e 0) as [->|]; [|reflexivity]. symmetry. apply at_start; auto. }
    rewrite Vc in * by assumption. apply added_new; auto.
  - intros k a b c e Id He Hc Ea Eb Ne Eh Ev. apply act_spec in Ea, Eb. destruct Ea as [t [Ht [Wt [Ot [At [Mt Kt]]]]]], Eb as [u [Hu [Wu [Ou [Au [Mu Ku]]]]]].
    destruct (begins_at t e Ht ltac:(lia) Mt) as [Bt Lt]. destruct (begins_at u e Hu ltac:(lia) Mu) as [Bu _].
    subst a b. rewrite !head_of_sent in Eh by auto. rewrite !tail_of_sent in * by auto.
    assert (Oc : op (tr (data t)) = Reduce) by (unfold op_number in Ot; destruct (op (tr (data t))); [discriminate|reflexivity]).
    assert (Kp : (p k < K)%nat) by (rewrite <- Wt; apply (proj1 good t Ht)).
    assert (Vc : forall v, (v < N)%nat -> V k v c e = clean (at_round (Z.to_nat e)) v (what (tr (data t))) c).
    { intros v Hv. unfold V. rewrite Wt. destruct (Z.eqb_spec e 0) as [->|]; [|reflexivity]. symmetry. apply at_start; auto. }
    rewrite Vc in * by (apply Src; auto). apply added_others with (t := t); auto; congruence.
  - intros k v c e He Hk Hv Hc Ev. rewrite V_clean in Ev by (auto; lia). rewrite V_next by lia.
    destruct (Nat.ltb_spec (at_round (Z.to_nat e)) n) as [L|L]; [|left; exact Ev].
    destruct (clean_stays _ _ _ _ Ev) as [|[t [Ht [Bt [Dt [Wt [Oc Kt]]]]]]]; [left; assumption|right].
    exists (arc_number t). split; [apply arc_of_sent, Ht|]. split; [rewrite head_of_sent; auto|]. apply act_spec. exists t.
    unfold op_number. rewrite Oc. rewrite (moved_at t _ Ht Bt). repeat split; auto. lia.
  - intros k v c e He Hk Hv Hc Ev. rewrite V_next in Ev by lia. rewrite V_clean by (auto; lia).
    destruct (Nat.ltb_spec (at_round (Z.to_nat e)) n) as [L|L]; [|left; exact Ev].
    destruct (clean_came _ _ _ _ Ev) as [|[t [Ht [Bt [Dt [Wt [Kt Es]]]]]]]; [left; assumption|right].
    exists (arc_number t), (op_number t). split; [apply arc_of_sent, Ht|]. split; [unfold op_number; destruct (op (tr (data t))); lia|].
    split; [rewrite head_of_sent; auto|]. split.
    + apply act_spec. exists t. rewrite (moved_at t _ Ht Bt). repeat split; auto. lia.
    + rewrite tail_of_sent by auto. rewrite V_clean; [exact Es|exact Hk|apply Src, Ht|exact Hc|lia].
  - intros k. unfold G. destruct (first_got (p k) <? 0) eqn:E; [|reflexivity]. exfalso. apply first_got_lt in E; [|lia].
    destruct E as [t [Ht [_ [_ [_ L]]]]]. pose proof (moved_0 t Ht). lia.
  - intros k e He Hk. unfold G. rewrite (proj2 (Z.leb_le 0 e)), (proj2 (Z.leb_le e h)), (proj2 (Z.leb_le 0 (e + 1))), (proj2 (Z.leb_le (e + 1) h)), !andb_true_r by lia.
    rewrite !first_got_lt by lia. split.
    + intros [t [Ht [Wt [Dt [Kt L]]]]]. destruct (Z.eq_dec (moved (begins (data t))) e) as [E|E]; [right|left; exists t; repeat split; auto; lia].
      exists (arc_number t), (op_number t). split; [apply arc_of_sent, Ht|]. split; [unfold op_number; destruct (op (tr (data t))); lia|].
      split; [rewrite head_of_sent; auto|]. apply act_spec. exists t. auto 6.
    + intros [[t [Ht [Wt [Dt [Kt L]]]]]|[a [o [_ [_ [Eh Ea]]]]]]; [exists t; repeat split; auto; lia|].
      apply act_spec in Ea. destruct Ea as [t [Ht [Wt [_ [At [Mt Kt]]]]]]. subst a. rewrite head_of_sent in Eh by auto. exists t. repeat split; auto. lia.
  - intros k e Hk _. unfold G. rewrite !andb_true_iff, !Z.ltb_lt. pose proof (p_sorted k Hk). lia.
  - intros g l e Hg Hl He.
    eapply Nat.le_trans; [|apply (rounds_fit j by_link h 0 (fun _ => 0) sch (proj1 good) (proj1 (fits_in_rounds j by_link sch good))
      (proj1 (proj2 (fits_in_rounds j by_link sch good))) (proj2 (proj2 (fits_in_rounds j by_link sch good))) g l e Hg Hl He)].
    set (f := fun x : var => match x with (((_, k), (a, o)), _) => act o k a e end).
    set (key := fun x : var => match x with (((_, k), (a, o)), _) => (p k, a, o) end).
    set (busy := fun t => occupies s l e (move_of j (Rounds by_link) h 0 moved (leg_in_round t))).
    assert (El : Clauses.how_many (fun g => occupies s l e (move_of j (Rounds by_link) h 0 moved g)) (map leg_in_round sch) = Clauses.how_many busy sch).
    { unfold busy, Clauses.how_many. generalize moved as m. generalize sch as ts. clear. intros ts m. induction ts as [|t ts IH]; [reflexivity|].
      cbn [map filter]. destruct (occupies _ _ _ _); cbn [length]; congruence. }
    rewrite El. unfold Clauses.how_many. rewrite <- (map_length key), <- (map_length (fun t => (what (tr (data t)), arc_number t, op_number t)) (filter busy sch)).
    assert (In_o : forall x, In x (Contributions.occupants K (arcs s) l e) -> exists o k a, x = Contributions.move o k a e /\ (k < K)%nat /\ spans l k (arc_at (arcs s) a) <> []).
    { intros x Hx. apply in_flat_map in Hx. destruct Hx as [k [Hk Hx]]. apply in_flat_map in Hx. destruct Hx as [a [Ha Hx]]. apply in_seq in Hk.
      destruct (spans l k (arc_at (arcs s) a)) as [|q qs] eqn:Eq; [destruct Hx|]. destruct Hx as [<-|[<-|[]]]; [exists O|exists 1%nat]; exists k, a; (split; [reflexivity|split; [lia|congruence]]). }
    apply NoDup_incl_length.
    + apply nodup_keys.
      * apply NoDup_filter. unfold Contributions.occupants, each. apply (nodup_flat (fun x : var => snd (fst (fst x)))); [apply seq_NoDup| |].
        -- intros k. apply (nodup_flat (fun x : var => fst (snd (fst x)))); [apply seq_NoDup| |].
           ++ intros a. destruct (spans l k (arc_at (arcs s) a)); [constructor|]. constructor; [intros [E|[]]; discriminate|constructor; [intros []|constructor]].
           ++ intros a x Hx. destruct (spans l k (arc_at (arcs s) a)); [destruct Hx|]. destruct Hx as [<-|[<-|[]]]; reflexivity.
        -- intros k x Hx. apply in_flat_map in Hx. destruct Hx as [a [_ Hx]]. destruct (spans l k (arc_at (arcs s) a)); [destruct Hx|].
           destruct Hx as [<-|[<-|[]]]; reflexivity.
      * intros x y Hx Hy E. apply filter_In in Hx, Hy. destruct (In_o x (proj1 Hx)) as [o [k [a [-> [Hk _]]]]], (In_o y (proj1 Hy)) as [o' [k' [a' [-> [Hk' _]]]]].
        unfold key, Contributions.move in E. injection E as E1 E2 E3. apply p_once in E1; auto. subst. reflexivity.
    + intros z Hz. apply in_map_iff in Hz. destruct Hz as [x [<- Hx]]. apply filter_In in Hx. destruct Hx as [Hx Fx].
      destruct (In_o x Hx) as [o [k [a [-> [Hk Sp]]]]]. unfold f, Contributions.move in Fx. apply act_spec in Fx. destruct Fx as [t [Ht [Wt [Ot [At [Mt Kt]]]]]].
      apply in_map_iff. exists t. unfold key, Contributions.move. split; [congruence|]. apply filter_In. split; [exact Ht|]. unfold busy, occupies.
      rewrite (move_arc j (Rounds by_link) h 0 moved (map leg_in_round sch)); [|apply (leg_known j by_link h 0 sch (proj1 good))|apply in_map, Ht].
      cbn [chunk_of move_of leg_in_round of_chunk start leaves]. rewrite Mt. subst a. rewrite (proj1 (arc_of_sent t Ht)) in Sp.
      destruct (round_limit g l k (what (tr (data t))) (the_leg_arc j (Rounds by_link) (leg_in_round t)) Hg Hl) as [E1 E2]. rewrite E1 in Sp, E2.
      apply existsb_exists. destruct (spans l (what (tr (data t))) (the_leg_arc j (Rounds by_link) (leg_in_round t))) as [|q qs]; [congruence|].
      exists q. split; [left; reflexivity|]. rewrite (E2 q (or_introl eq_refl)). cbn [fst snd]. apply andb_true_iff. split; [apply Z.leb_le; lia|apply Z.ltb_lt; lia].
Qed.
End Order.
End Job.

(** ** The rule *)

Definition no_allreduce (j : job) (by_link : bool) (h : Z) (proof : list Lrat.line) : bool :=
  let s := system_of j (Rounds by_link) h 0 in let l := arcs s in
  let n := nodes j in let m := length (sizes j) in
  starts_own j && ends_full j && (0 <=? h) && forallb (fun a => (tail_of a <? n)%nat) l &&
  refuted_by (Contributions.variables m n l h) (Contributions.formula m n l h (idempotent j) (fun k => size j k =? size j (pred k)) (limits s)) proof.

(** More than H rounds move something. *)
Theorem allreduce_rounds j by_link h proof sch : no_allreduce j by_link h proof = true -> right_in_rounds j by_link sch ->
  h + 1 <= Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))).
Proof.
  intros R Hr. destruct (Z.le_gt_cases (Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch)))) h) as [L|]; [exfalso|lia].
  unfold no_allreduce in R. rewrite !andb_true_iff, Z.leb_le, forallb_forall in R. destruct R as [[[[R1 R2] R3] R4] R5].
  destruct (proj2 (proj2 (proj2 Hr))) as [H [He Hg]].
  destruct (in_order_of (first_got j h sch H) (length (sizes j))) as [p [P1 [P2 P3]]].
  refine (no_account _ _ _ _ _ _ _ proof _ _ _ R3 _ R5 (the_account j by_link h sch R1 R2 Hr L H He Hg p P1 P2 P3 _)).
  intros a Ha. apply Nat.ltb_lt, R4, nth_In, Ha.
Qed.

Definition allreduce_rule (j : job) (by_link : bool) (h : Z) (proof : list Lrat.line) (bound : Z) : bool :=
  no_allreduce j by_link h proof && (bound <=? take_after j h 0).
Theorem allreduce_rule_sound j by_link h proof bound sch : positive j -> allreduce_rule j by_link h proof bound = true ->
  right_in_rounds j by_link sch -> bound <= round_makespan j sch.
Proof.
  unfold allreduce_rule. intros Hp R Hr. rewrite andb_true_iff, Z.leb_le in R. destruct R as [R Hb]. eapply Z.le_trans; [exact Hb|].
  apply (rounds_above j by_link); auto. apply (allreduce_rounds j by_link h proof sch R Hr).
Qed.
