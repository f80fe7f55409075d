(** Jobs that share all GPUs and one network in turns: the least period, T*, as a bound that no
    plan beats and that serving the jobs in turn attains, in any order (solve/crossover, Periods;
    the open shop on a circle of Gonzalez and Sahni). Left out: unequal rates, lock-step, a
    finite number of iterations. *)
From Coq Require Import Bool List ZArith Lia Sorted.
From Oraccl Require Import Cut Partition.
Import ListNotations.
Open Scope Z_scope.

(** A bucket is ready so long after its computation began, and then takes so long on the
    network. *)
Record bucket := Bucket { ready : Z; takes : Z }.
Record job := Job { compute : Z; buckets : list bucket }.

Definition network (j : job) : Z := sum takes (buckets j).
(** When the last bucket has been carried: the computation begins at [s], the network is free from [f] on. *)
Definition carried (s : Z) (bs : list bucket) (f : Z) : Z := fold_left (fun f b => Z.max (s + ready b) f + takes b) bs f.
(** An iteration of a job that has all for itself. *)
Definition alone (j : job) : Z := Z.max (compute j) (carried 0 (buckets j) 0).

(** Ready by the end of the computation, and in order. *)
Definition sound (j : job) : Prop :=
  (forall b, In b (buckets j) -> 0 <= ready b <= compute j /\ 0 <= takes b) /\ 0 <= compute j /\
  StronglySorted (fun a b => ready a <= ready b) (buckets j).

Section Jobs.
Variable jobs : list job.
Hypothesis sane : forall j, In j jobs -> sound j.
Notation many := (length jobs).
Definition the_job (i : nat) : job := nth i jobs (Job 0 []).
Definition the_bucket (i k : nat) : bucket := nth k (buckets (the_job i)) (Bucket 0 0).

Definition period : Z := Z.max (sum compute jobs) (Z.max (sum network jobs) (fold_right (fun j m => Z.max (alone j) m) 0 jobs)).

(** When iteration n of a job computes, and when its bucket k is carried. *)
Record plan := Plan { computes : nat -> Z -> Z; carries : nat -> nat -> Z -> Z }.
Definition a_bucket (i k : nat) : Prop := (i < many)%nat /\ (k < length (buckets (the_job i)))%nat.
Definition works (T : Z) (p : plan) : Prop :=
  (forall i n, (i < many)%nat -> computes p i (n + 1) = computes p i n + T) /\
  (forall i n i' n', (i < many)%nat -> (i' < many)%nat -> (i, n) <> (i', n') ->
     apart (Span (computes p i n) (compute (the_job i))) (Span (computes p i' n') (compute (the_job i')))) /\
  (forall i k n i' k' n', a_bucket i k -> a_bucket i' k' -> (i, k, n) <> (i', k', n') ->
     apart (Span (carries p i k n) (takes (the_bucket i k))) (Span (carries p i' k' n') (takes (the_bucket i' k')))) /\
  (forall i k n, a_bucket i k -> computes p i n + ready (the_bucket i k) <= carries p i k n /\
     carries p i k n + takes (the_bucket i k) <= computes p i (n + 1)).

Lemma sane_job i : (i < many)%nat -> sound (the_job i).
Proof. intros H. apply sane, nth_In, H. Qed.
Lemma sane_bucket i k : a_bucket i k -> 0 <= ready (the_bucket i k) <= compute (the_job i) /\ 0 <= takes (the_bucket i k).
Proof. intros [H1 H2]. destruct (sane_job i H1) as [A _]. apply A, nth_In, H2. Qed.

(** ** The bound *)

Lemma all_pairs {A} (R : A -> A -> Prop) l : NoDup l -> (forall x y, In x l -> In y l -> x <> y -> R x y) -> ForallOrdPairs R l.
Proof.
  induction 1 as [|a l Ha Hl IH]; intros H; constructor.
  - rewrite Forall_forall. intros x Hx. apply H; [left; auto|right; auto|]. intros <-. auto.
  - apply IH. intros x y Hx Hy. apply H; right; auto.
Qed.
Lemma pairs_map {A B} (R : B -> B -> Prop) (f : A -> B) l : ForallOrdPairs (fun x y => R (f x) (f y)) l -> ForallOrdPairs R (map f l).
Proof.
  induction 1 as [|a l Ha _ IH]; simpl; constructor; auto. rewrite Forall_forall in *. intros y Hy.
  apply in_map_iff in Hy. destruct Hy as [x [<- Hx]]. auto.
Qed.
Lemma within_some {A} (f : A -> Z) l : exists b, 0 <= b /\ forall a, In a l -> - b <= f a <= b.
Proof.
  induction l as [|a l [b [B IH]]]; [exists 0; split; [lia|intros ? []]|].
  exists (b + Z.abs (f a)). split; [lia|]. intros x [->|Hx]; [lia|]. specialize (IH x Hx). lia.
Qed.

(** What does not overlap and comes again each period T takes T at most, all together. *)
Lemma load {A} (items : list A) (start : A -> Z -> Z) (len base : A -> Z) T :
  0 <= T -> NoDup items -> (forall a, In a items -> 0 <= len a) ->
  (forall a n, In a items -> 0 <= n -> base a + n * T <= start a n /\ start a n + len a <= base a + len a + (n + 1) * T) ->
  (forall a n a' n', In a items -> In a' items -> (a, n) <> (a', n') -> apart (Span (start a n) (len a)) (Span (start a' n') (len a'))) ->
  sum len items <= T.
Proof.
  intros HT Hn Hl Hs Ha. destruct (Z_le_gt_dec (sum len items) T) as [|G]; auto. exfalso.
  destruct (within_some base items) as [b1 [B1 W1]]. destruct (within_some len items) as [b2 [B2 W2]].
  set (N := Z.to_nat (2 * b1 + b2 + T + 1)). set (all := flat_map (fun n => map (pair n) items) (seq 0 N)).
  assert (In_all : forall n a, In (n, a) all -> In a items /\ (n < N)%nat).
  { intros n a H. apply in_flat_map in H. destruct H as [n' [H1 H2]]. apply in_map_iff in H2. destruct H2 as [a' [[= <- <-] H2]].
    apply in_seq in H1. split; [auto|lia]. }
  assert (Sum : sum len items * Z.of_nat N = sum (fun x => len (snd x)) all).
  { unfold all. rewrite <- (seq_length N 0) at 1. generalize (seq 0 N). induction l as [|n l IH]; [simpl; lia|].
    cbn [flat_map length]. rewrite sum_app, sum_map, <- IH, Nat2Z.inj_succ, Z.mul_succ_r. cbn [snd]. apply Z.add_comm. }
  assert (Fit : sum (fun x => len (snd x)) all <= (b1 + b2 + Z.of_nat N * T) - (- b1)).
  { rewrite <- (sum_map (fun x => Span (start (snd x) (Z.of_nat (fst x))) (len (snd x))) long).
    apply (spans_fit (length (map (fun x => Span (start (snd x) (Z.of_nat (fst x))) (len (snd x))) all))); [lia|nia| |].
    - intros s Hin. apply in_map_iff in Hin. destruct Hin as [[n a] [<- Hin]]. apply In_all in Hin. destruct Hin as [Ia In].
      cbn [fst snd first long]. destruct (Hs a (Z.of_nat n) Ia ltac:(lia)) as [S1 S2]. specialize (Hl a Ia). specialize (W1 a Ia). specialize (W2 a Ia).
      assert ((Z.of_nat n + 1) * T <= Z.of_nat N * T) by (apply Z.mul_le_mono_nonneg_r; lia). nia.
    - apply pairs_map. apply all_pairs.
      + apply (in_parallel_once (fun _ => items) (seq 0 N) (seq_NoDup _ _)). auto.
      + intros [n a] [n' a'] H1 H2 Hne. apply In_all in H1, H2. cbn [fst snd]. apply Ha; try tauto. intros [= -> E]. apply Hne.
        apply Nat2Z.inj in E. congruence. }
  rewrite <- Sum in Fit. assert (Hpos : Z.of_nat N = 2 * b1 + b2 + T + 1) by (unfold N; rewrite Z2Nat.id; lia). nia.
Qed.

Section Bound.
Variable T : Z.
Variable p : plan.
Hypothesis T_0 : 0 <= T.
Hypothesis good : works T p.

Lemma computes_at i n : (i < many)%nat -> 0 <= n -> computes p i n = computes p i 0 + n * T.
Proof.
  intros Hi Hn. pattern n. apply natlike_ind; [lia| |exact Hn]. intros x Hx IH. unfold Z.succ. rewrite (proj1 good i x Hi), IH. lia.
Qed.
Lemma sum_jobs (f : job -> Z) : sum f jobs = sum (fun i => f (the_job i)) (seq 0 many).
Proof.
  rewrite <- (sum_map the_job f). f_equal. unfold the_job. clear. induction jobs as [|j l IH]; [reflexivity|].
  cbn [length seq map]. rewrite <- seq_shift, map_map. cbn [nth]. f_equal. exact IH.
Qed.
Lemma gpu_bound : sum compute jobs <= T.
Proof.
  rewrite sum_jobs. apply (load _ (fun i n => computes p i n) _ (fun i => computes p i 0)); auto using seq_NoDup.
  - intros i Hi. apply in_seq in Hi. apply (sane_job i). lia.
  - intros i n Hi Hn. apply in_seq in Hi. rewrite (computes_at i n) by lia. lia.
  - intros i n i' n' Hi Hi' Hne. apply in_seq in Hi, Hi'. apply good; [lia|lia|exact Hne].
Qed.

Definition all_buckets : list (nat * nat) := flat_map (fun i => map (pair i) (seq 0 (length (buckets (the_job i))))) (seq 0 many).
Lemma in_buckets i k : In (i, k) all_buckets <-> a_bucket i k.
Proof.
  unfold all_buckets, a_bucket. rewrite in_flat_map. split.
  - intros [i' [H1 H2]]. apply in_map_iff in H2. destruct H2 as [k' [[= <- <-] H2]]. apply in_seq in H1, H2. lia.
  - intros [H1 H2]. exists i. split; [apply in_seq; lia|]. apply in_map, in_seq. lia.
Qed.
Lemma sum_nth (bs : list bucket) : sum takes bs = sum (fun k => takes (nth k bs (Bucket 0 0))) (seq 0 (length bs)).
Proof.
  rewrite <- (sum_map (fun k => nth k bs (Bucket 0 0)) takes). f_equal. induction bs as [|b l IH]; [reflexivity|].
  cbn [length seq map]. rewrite <- seq_shift, map_map. cbn [nth]. f_equal. exact IH.
Qed.
Lemma network_bound : sum network jobs <= T.
Proof.
  assert (E : sum network jobs = sum (fun x => takes (the_bucket (fst x) (snd x))) all_buckets).
  { rewrite sum_jobs. unfold all_buckets. induction (seq 0 many) as [|i l IH]; [reflexivity|].
    cbn [flat_map]. rewrite sum_app, <- IH, sum_map. cbn [fst snd]. cbn [sum fold_right]. f_equal. apply sum_nth. }
  rewrite E. apply (load _ (fun x n => carries p (fst x) (snd x) n) _ (fun x => computes p (fst x) 0)); auto.
  - apply in_parallel_once; auto using seq_NoDup.
  - intros [i k] H. apply in_buckets in H. apply (sane_bucket i k H).
  - intros [i k] n H Hn. apply in_buckets in H. cbn [fst snd]. destruct (sane_bucket i k H) as [R M]. pose proof H as [Hi _].
    destruct good as [_ [_ [_ S]]]. destruct (S i k n H) as [S1 S2]. rewrite (computes_at i n) in S1 by lia. rewrite (computes_at i (n + 1)) in S2 by lia. lia.
  - intros [i k] n [i' k'] n' H H' Hne. apply in_buckets in H, H'. cbn [fst snd]. apply good; auto.
Qed.

(** From a bucket on, all that follow wait for it to be ready. *)
Lemma sorted_after i k k' : (i < many)%nat -> (k <= k')%nat -> (k' < length (buckets (the_job i)))%nat ->
  ready (the_bucket i k) <= ready (the_bucket i k').
Proof.
  intros Hi Hk Hk'. destruct (sane_job i Hi) as [_ [_ S]]. unfold the_bucket. revert k k' Hk Hk'.
  induction S as [|b l S IH Hb]; intros k k' Hk Hk'; [simpl in Hk'; lia|]. rewrite Forall_forall in Hb.
  destruct k as [|k], k' as [|k']; cbn [nth length] in *; try lia.
  - apply Hb, nth_In. lia.
  - apply IH; lia.
Qed.
Lemma rest_bound i k : (i < many)%nat -> (k < length (buckets (the_job i)))%nat ->
  ready (the_bucket i k) + sum takes (skipn k (buckets (the_job i))) <= T.
Proof.
  intros Hi Hk. set (ks := seq k (length (buckets (the_job i)) - k)).
  assert (E : sum takes (skipn k (buckets (the_job i))) = sum (fun k => takes (the_bucket i k)) ks).
  { rewrite <- (sum_map (the_bucket i) takes). f_equal. unfold ks, the_bucket. clear. revert k.
    induction (buckets (the_job i)) as [|b l IH]; intros [|k]; try reflexivity.
    - cbn [skipn length Nat.sub seq map nth]. f_equal. rewrite <- seq_shift, map_map. cbn [nth].
      specialize (IH O). cbn [skipn] in IH. rewrite Nat.sub_0_r in IH. exact IH.
    - cbn [skipn length Nat.sub]. rewrite <- seq_shift, map_map. cbn [nth]. apply IH. }
  assert (B : forall k', In k' ks -> a_bucket i k' /\ (k <= k')%nat) by (intros k' H; apply in_seq in H; unfold a_bucket; lia).
  destruct good as [P [_ [X S]]]. specialize (P i 0 Hi).
  assert (W : forall k', In k' ks -> computes p i 0 + ready (the_bucket i k) <= carries p i k' 0 /\
      carries p i k' 0 + takes (the_bucket i k') <= computes p i 0 + T).
  { intros k' H. destruct (B k' H) as [H1 H2]. destruct (S i k' 0 H1) as [S1 S2]. rewrite P in S2.
    pose proof (sorted_after i k k' Hi H2 (proj2 H1)). lia. }
  enough (sum takes (skipn k (buckets (the_job i))) <= (computes p i 0 + T) - (computes p i 0 + ready (the_bucket i k))) by lia.
  rewrite E, <- (sum_map (fun k' => Span (carries p i k' 0) (takes (the_bucket i k'))) long).
  apply (spans_fit (length (map (fun k' => Span (carries p i k' 0) (takes (the_bucket i k'))) ks))); [lia| | |].
  - assert (In k ks) as Hin by (apply in_seq; lia). destruct (W k Hin). destruct (B k Hin) as [Bk _]. pose proof (sane_bucket i k Bk). lia.
  - intros s H. apply in_map_iff in H. destruct H as [k' [<- H]]. cbn [first long]. destruct (W k' H). destruct (B k' H) as [Bk _].
    pose proof (sane_bucket i k' Bk). lia.
  - apply pairs_map. apply all_pairs; [apply seq_NoDup|]. intros x y Hx Hy Hne. apply X; [apply B, Hx|apply B, Hy|]. intros [= ->]. auto.
Qed.
Lemma carried_at_most bs : forall f, f + sum takes bs <= T ->
  (forall k, (k < length bs)%nat -> ready (nth k bs (Bucket 0 0)) + sum takes (skipn k bs) <= T) -> carried 0 bs f <= T.
Proof.
  induction bs as [|b bs IH]; intros f Hf H; [simpl in *; lia|]. unfold carried. cbn [fold_left]. apply IH.
  - specialize (H O ltac:(simpl; lia)). cbn [nth skipn sum fold_right] in H. cbn [sum fold_right] in Hf. unfold sum in *. lia.
  - intros k Hk. apply (H (S k)). simpl. lia.
Qed.
Lemma sum_nonneg {A} (f : A -> Z) l : (forall x, In x l -> 0 <= f x) -> 0 <= sum f l.
Proof. induction l as [|a l IH]; simpl; intros H; [lia|]. specialize (IH (fun x Hx => H x (or_intror Hx))). specialize (H a (or_introl eq_refl)). lia. Qed.
Lemma one_of {A} (f : A -> Z) l x : (forall x, In x l -> 0 <= f x) -> In x l -> f x <= sum f l.
Proof.
  induction l as [|a l IH]; intros H Hx; [destruct Hx|]. pose proof (sum_nonneg f l (fun y Hy => H y (or_intror Hy))) as N.
  cbn [sum fold_right]. fold (sum f l). destruct Hx as [->|Hx]; [lia|]. specialize (IH (fun y Hy => H y (or_intror Hy)) Hx).
  specialize (H a (or_introl eq_refl)). lia.
Qed.
Lemma alone_bound j : In j jobs -> alone j <= T.
Proof.
  intros Hj. destruct (In_nth jobs j (Job 0 []) Hj) as [i [Hi E]]. fold (the_job i) in E. subst j.
  assert (C : forall j, In j jobs -> 0 <= compute j) by (intros j H; apply (sane j H)).
  assert (M : forall j, In j jobs -> 0 <= network j) by (intros j H; apply sum_nonneg; intros b Hb; apply (sane j H), Hb).
  apply Z.max_lub.
  - pose proof (one_of compute jobs _ C Hj). pose proof gpu_bound. lia.
  - apply carried_at_most.
    + pose proof (one_of network jobs _ M Hj). pose proof network_bound. unfold network in *. lia.
    + intros k Hk. apply (rest_bound i k Hi Hk).
Qed.
End Bound.

Theorem period_bound T p : 0 <= T -> works T p -> period <= T.
Proof.
  intros HT H. apply Z.max_lub; [apply (gpu_bound T p HT H)|]. apply Z.max_lub; [apply (network_bound T p HT H)|].
  pose proof (alone_bound T p HT H) as A. revert A. clear - HT. induction jobs as [|j l IH]; intros A; simpl; [lia|].
  apply Z.max_lub; [apply A; left; auto|]. apply IH. intros x Hx. apply A. right; auto.
Qed.

(** ** In turns *)

Section Turns.
Variable T : Z.
Hypothesis enough : period <= T.

Definition begin (i : nat) : Z := sum compute (firstn i jobs).
Definition sent_before (i : nat) : Z := sum network (firstn i jobs).
(** The network is free for job i, where it was from [f] on for the first. *)
Fixpoint free (f : Z) (i : nat) : Z :=
  match i with
  | O => f
  | S i => carried (begin i) (buckets (the_job i)) (Z.max (begin i) (free f i))
  end.
(** One period before the last of the jobs has been served. *)
Definition from : Z := free (- (sum network jobs + T)) many - T.
Definition served (i k : nat) : Z := carried (begin i) (firstn k (buckets (the_job i))) (Z.max (begin i) (free from i)).
Definition in_turns : plan :=
  Plan (fun i n => begin i + n * T) (fun i k n => Z.max (begin i + ready (the_bucket i k)) (served i k) + n * T).

Lemma within_period : sum compute jobs <= T /\ sum network jobs <= T /\ forall i, (i < many)%nat -> alone (the_job i) <= T.
Proof.
  unfold period in enough. repeat split; try lia. intros i Hi. assert (Hj : In (the_job i) jobs) by (apply nth_In, Hi).
  enough (alone (the_job i) <= fold_right (fun j m => Z.max (alone j) m) 0 jobs) by lia.
  revert Hj. clear. induction jobs as [|j l IH]; intros H; [destruct H|]. cbn [fold_right]. destruct H as [<-|H]; [lia|]. specialize (IH H). lia.
Qed.
Lemma sum_firstn_S (f : job -> Z) i : (i < many)%nat -> sum f (firstn (S i) jobs) = sum f (firstn i jobs) + f (the_job i).
Proof.
  unfold the_job. clear. revert i. induction jobs as [|j l IH]; intros i H; [simpl in H; lia|]. destruct i as [|i]; [cbn [firstn sum fold_right nth]; lia|].
  specialize (IH i ltac:(simpl in H; lia)). change (firstn (S (S i)) (j :: l)) with (j :: firstn (S i) l).
  change (firstn (S i) (j :: l)) with (j :: firstn i l). change (nth (S i) (j :: l) (Job 0 [])) with (nth i l (Job 0 [])).
  change (sum f (j :: firstn (S i) l)) with (f j + sum f (firstn (S i) l)). change (sum f (j :: firstn i l)) with (f j + sum f (firstn i l)). lia.
Qed.
Lemma compute_0 i : 0 <= compute (the_job i).
Proof.
  destruct (Nat.lt_ge_cases i many) as [H|H]; [apply (sane_job i H)|]. unfold the_job. rewrite nth_overflow by exact H. simpl. lia.
Qed.
Lemma takes_0 i b : (i < many)%nat -> In b (buckets (the_job i)) -> 0 <= ready b <= compute (the_job i) /\ 0 <= takes b.
Proof. intros H Hb. apply (sane_job i H), Hb. Qed.
Lemma network_0 i : (i < many)%nat -> 0 <= network (the_job i).
Proof. intros H. apply sum_nonneg. intros b Hb. apply (takes_0 i b H Hb). Qed.
Lemma more_later (f : job -> Z) : (forall i, (i < many)%nat -> 0 <= f (the_job i)) ->
  forall k i, (i <= k)%nat -> (k <= many)%nat -> sum f (firstn i jobs) <= sum f (firstn k jobs).
Proof.
  intros Hf k i H. induction H as [|k H IH]; intros Hk; [lia|]. rewrite sum_firstn_S by lia. specialize (IH ltac:(lia)). specialize (Hf k ltac:(lia)). lia.
Qed.
Lemma begin_later i k : (i <= k)%nat -> (k <= many)%nat -> begin i <= begin k.
Proof. apply more_later. intros; apply compute_0. Qed.
Lemma sent_later i k : (i <= k)%nat -> (k <= many)%nat -> sent_before i <= sent_before k.
Proof. apply more_later, network_0. Qed.
Lemma all_begin : begin many = sum compute jobs.
Proof. unfold begin. rewrite firstn_all. reflexivity. Qed.
Lemma all_sent : sent_before many = sum network jobs.
Proof. unfold sent_before. rewrite firstn_all. reflexivity. Qed.
Lemma begin_0 i : (i <= many)%nat -> 0 <= begin i.
Proof. intros H. apply (begin_later 0 i); lia. Qed.
Lemma sent_0 i : (i <= many)%nat -> 0 <= sent_before i.
Proof. intros H. apply (sent_later 0 i); lia. Qed.

Lemma carried_max s bs : forall x f, carried s bs (Z.max x f) = Z.max (f + sum takes bs) (carried s bs x).
Proof.
  induction bs as [|b bs IH]; intros x f; unfold carried in *; cbn [fold_left sum fold_right]; [lia|].
  replace (Z.max (s + ready b) (Z.max x f) + takes b) with (Z.max (Z.max (s + ready b) x + takes b) (f + takes b)) by lia.
  rewrite IH. unfold sum. lia.
Qed.
Lemma carried_shift s bs : forall f, carried s bs (s + f) = s + carried 0 bs f.
Proof.
  induction bs as [|b bs IH]; intros f; unfold carried in *; cbn [fold_left]; [lia|].
  rewrite <- IH. f_equal. lia.
Qed.
(** When the job's last bucket is carried at the earliest. *)
Definition early (i : nat) : Z := begin i + carried 0 (buckets (the_job i)) 0.
Lemma free_S f i : free f (S i) = Z.max (free f i + network (the_job i)) (early i).
Proof. cbn [free]. rewrite carried_max. unfold early, network. rewrite <- (carried_shift _ _ 0), Z.add_0_r. reflexivity. Qed.
Lemma carried_least s bs f : (forall b, In b bs -> 0 <= takes b) -> f <= carried s bs f.
Proof.
  revert f. induction bs as [|b bs IH]; intros f H; unfold carried in *; cbn [fold_left]; [lia|].
  specialize (IH (Z.max (s + ready b) f + takes b) (fun x Hx => H x (or_intror Hx))). specialize (H b (or_introl eq_refl)). lia.
Qed.
Lemma carried_most s bs c : forall f, f <= s + c -> (forall b, In b bs -> ready b <= c /\ 0 <= takes b) -> carried s bs f <= s + c + sum takes bs.
Proof.
  induction bs as [|b bs IH]; intros f Hf H; unfold carried in *; cbn [fold_left sum fold_right]; [lia|].
  pose proof (H b (or_introl eq_refl)). rewrite <- (Z.max_id (_ + takes b)).
  change (fold_left (fun f b => Z.max (s + ready b) f + takes b) bs (Z.max (Z.max (s + ready b) f + takes b) (Z.max (s + ready b) f + takes b)))
    with (carried s bs (Z.max (Z.max (s + ready b) f + takes b) (Z.max (s + ready b) f + takes b))).
  assert (M : forall x y, x <= y -> carried s bs x <= carried s bs y).
  { intros x y L. replace y with (Z.max y x) by lia. clear - L. revert x y L. induction bs as [|a l IHl]; intros x y L; unfold carried in *; cbn [fold_left]; [lia|].
    replace (Z.max (s + ready a) (Z.max y x) + takes a) with (Z.max (Z.max (s + ready a) y + takes a) (Z.max (s + ready a) x + takes a)) by lia. apply IHl. lia. }
  eapply Z.le_trans; [apply (M _ (Z.max (s + c) (s + c + takes b))); lia|]. rewrite carried_max.
  specialize (IH (s + c) (Z.le_refl _) (fun x Hx => H x (or_intror Hx))). unfold carried, sum in *. lia.
Qed.
Lemma early_bounds i : (i < many)%nat -> 0 <= early i /\ early i <= begin i + T /\ early i <= begin (S i) + network (the_job i).
Proof.
  intros Hi. destruct within_period as [_ [_ A]]. specialize (A i Hi). unfold alone in A. unfold early.
  pose proof (begin_0 i ltac:(lia)). pose proof (carried_least 0 (buckets (the_job i)) 0 (fun b Hb => proj2 (takes_0 i b Hi Hb))).
  pose proof (carried_most 0 (buckets (the_job i)) (compute (the_job i)) 0) as M.
  assert (B : begin (S i) = begin i + compute (the_job i)) by (apply (sum_firstn_S compute i Hi)).
  unfold network. repeat split; try lia. rewrite B. enough (carried 0 (buckets (the_job i)) 0 <= 0 + compute (the_job i) + sum takes (buckets (the_job i))) by lia.
  apply M; [pose proof (compute_0 i); lia|]. intros b Hb. pose proof (takes_0 i b Hi Hb). lia.
Qed.

(** Who is to blame for when the network is free: a job before, or what was at first. *)
Lemma blame f i : (i <= many)%nat -> (exists k, (k < i)%nat /\ free f i <= early k + (sent_before i - sent_before (S k))) \/ free f i <= f + sent_before i.
Proof.
  induction i as [|i IH]; intros Hi; [right; unfold sent_before; simpl; lia|]. rewrite free_S.
  assert (E : sent_before (S i) = sent_before i + network (the_job i)) by (apply (sum_firstn_S network i); lia).
  destruct (Z.max_spec (free f i + network (the_job i)) (early i)) as [[_ ->]|[_ ->]].
  - left. exists i. split; [lia|]. lia.
  - destruct (IH ltac:(lia)) as [[k [Hk L]]|L]; [left; exists k; split; lia|right; lia].
Qed.
Lemma free_later f g i : (i <= many)%nat -> g <= f -> free f i = Z.max (f + sent_before i) (free g i).
Proof.
  intros Hi Hg. induction i as [|i IH]; [unfold sent_before; simpl; lia|]. rewrite !free_S, IH by lia.
  assert (E : sent_before (S i) = sent_before i + network (the_job i)) by (apply (sum_firstn_S network i); lia). lia.
Qed.
Lemma free_grows f i : (i < many)%nat -> free f i <= free f (S i).
Proof. intros Hi. rewrite free_S. pose proof (network_0 i Hi). lia. Qed.
Lemma free_order f i k : (i <= k)%nat -> (k <= many)%nat -> free f i <= free f k.
Proof. intros H. induction H as [|k H IH]; intros Hk; [lia|]. pose proof (free_grows f k ltac:(lia)). specialize (IH ltac:(lia)). lia. Qed.

Hypothesis some : (1 <= many)%nat.
Lemma T_pos : 0 <= T.
Proof. unfold period in enough. assert (0 <= fold_right (fun j m => Z.max (alone j) m) 0 jobs); [|lia]. clear. induction jobs; simpl; lia. Qed.

Lemma last_early : exists k, (k < many)%nat /\ from + T <= early k + (sum network jobs - sent_before (S k)).
Proof.
  pose proof T_pos. unfold from. set (g := - (sum network jobs + T)). destruct (blame g many (Nat.le_refl _)) as [[k [Hk L]]|L].
  - exists k. rewrite all_sent in L. split; [auto|lia].
  - exists (many - 1)%nat. split; [lia|]. replace (S (many - 1)) with many by lia. rewrite all_sent in *.
    destruct (early_bounds (many - 1) ltac:(lia)) as [P _]. unfold g in *. lia.
Qed.
Lemma comes_again : free from many = from + T.
Proof.
  pose proof T_pos. destruct within_period as [_ [N _]]. pose proof (sent_0 many (Nat.le_refl _)) as S0. rewrite all_sent in S0.
  assert (G : - (sum network jobs + T) <= from).
  { unfold from. set (g := - (sum network jobs + T)). replace many with (S (many - 1)) at 1 by lia. rewrite free_S.
    destruct (early_bounds (many - 1) ltac:(lia)) as [P _]. unfold g. lia. }
  rewrite (free_later from _ many (Nat.le_refl _) G), all_sent. unfold from. lia.
Qed.
Lemma in_time i : (i < many)%nat -> free from (S i) <= begin i + T.
Proof.
  intros Hi. destruct within_period as [C [N _]]. rewrite <- all_begin in C. rewrite <- all_sent in N.
  assert (Sk : forall k, (k < many)%nat -> sent_before (S k) = sent_before k + network (the_job k)) by (intros k Hk; apply (sum_firstn_S network k Hk)).
  assert (One : forall k, (k <= i)%nat -> early k + (sent_before (S i) - sent_before (S k)) <= begin i + T).
  { intros k Hk. destruct (early_bounds k ltac:(lia)) as [_ [A B]]. destruct (Nat.eq_dec k i) as [->|]; [lia|].
    pose proof (begin_later (S k) i ltac:(lia) ltac:(lia)). pose proof (sent_0 k ltac:(lia)).
    pose proof (sent_later (S i) many ltac:(lia) (Nat.le_refl _)). specialize (Sk k ltac:(lia)). lia. }
  destruct (blame from (S i) Hi) as [[k [Hk L]]|L]; [specialize (One k ltac:(lia)); lia|].
  destruct last_early as [k [Hk A]]. rewrite <- all_sent in A. destruct (Nat.le_gt_cases k i) as [Hki|Hki]; [specialize (One k Hki); lia|].
  destruct (early_bounds k Hk) as [_ [_ B]]. pose proof (begin_later (S k) many Hk (Nat.le_refl _)). pose proof (begin_0 i ltac:(lia)).
  pose proof (sent_later (S i) k Hki ltac:(lia)). specialize (Sk k Hk). lia.
Qed.

(** The buckets of a job, one after another. *)
Lemma firstn_nth (bs : list bucket) k : (k < length bs)%nat -> firstn (S k) bs = firstn k bs ++ [nth k bs (Bucket 0 0)].
Proof. revert k. induction bs as [|b l IH]; intros k H; [simpl in H; lia|]. destruct k; [reflexivity|]. cbn [firstn nth app]. f_equal. apply IH. simpl in H. lia. Qed.
Lemma served_S i k : a_bucket i k -> served i (S k) = Z.max (begin i + ready (the_bucket i k)) (served i k) + takes (the_bucket i k).
Proof. intros [_ H]. unfold served, carried, the_bucket. rewrite (firstn_nth _ _ H), fold_left_app. reflexivity. Qed.
Lemma served_order i k k' : (i < many)%nat -> (k <= k')%nat -> (k' <= length (buckets (the_job i)))%nat -> served i k <= served i k'.
Proof.
  intros Hi H. induction H as [|k' H IH]; intros Hk; [lia|]. assert (B : a_bucket i k') by (split; lia). rewrite served_S by exact B.
  pose proof (sane_bucket i k' B). specialize (IH ltac:(lia)). lia.
Qed.
Lemma served_all i : served i (length (buckets (the_job i))) = free from (S i).
Proof. unfold served. rewrite firstn_all. reflexivity. Qed.
Lemma served_within i k : a_bucket i k -> free from i <= served i k /\ served i (S k) <= free from (S i).
Proof.
  intros [Hi Hk]. pose proof (served_order i 0 k Hi ltac:(lia) ltac:(lia)). pose proof (served_order i (S k) _ Hi Hk (Nat.le_refl _)).
  rewrite served_all in *. split; [|lia]. unfold served, carried in *. cbn [firstn fold_left] in *. lia.
Qed.

Lemma turns_network i k n i' k' n' : a_bucket i k -> a_bucket i' k' -> n < n' \/ n = n' /\ ((i < i')%nat \/ i = i' /\ (k < k')%nat) ->
  carries in_turns i k n + takes (the_bucket i k) <= carries in_turns i' k' n'.
Proof.
  intros B B' H. destruct (served_within i k B) as [_ W]. destruct (served_within i' k' B') as [W' _]. rewrite served_S in W by exact B.
  pose proof (proj1 B) as Bi. pose proof (proj1 B') as Bi'. cbn [carries in_turns].
  destruct H as [H|[<- [H|[<- H]]]].
  - pose proof (free_order from (S i) many Bi (Nat.le_refl _)) as O. rewrite comes_again in O.
    pose proof (free_order from 0 i' ltac:(lia) ltac:(lia)) as O'. cbn [free] in O'. pose proof T_pos.
    assert (n * T + T <= n' * T) by nia. lia.
  - pose proof (free_order from (S i) i' ltac:(lia) ltac:(lia)). lia.
  - pose proof (served_order i (S k) k' Bi ltac:(lia) ltac:(destruct B'; lia)) as O. rewrite served_S in O by exact B. lia.
Qed.
Lemma turns_gpu i n i' n' : (i < many)%nat -> (i' < many)%nat -> n < n' \/ n = n' /\ (i < i')%nat ->
  computes in_turns i n + compute (the_job i) <= computes in_turns i' n'.
Proof.
  intros Hi Hi' H. cbn [computes in_turns]. assert (B : begin (S i) = begin i + compute (the_job i)) by (apply (sum_firstn_S compute i Hi)).
  destruct H as [H|[<- H]].
  - destruct within_period as [C _]. rewrite <- all_begin in C. pose proof (begin_later (S i) many Hi (Nat.le_refl _)).
    pose proof (begin_0 i' ltac:(lia)). pose proof T_pos. assert (n * T + T <= n' * T) by nia. lia.
  - pose proof (begin_later (S i) i' H ltac:(lia)). lia.
Qed.

Theorem turns_work : works T in_turns.
Proof.
  repeat split.
  - intros i n _. cbn [computes in_turns]. lia.
  - intros i n i' n' Hi Hi' Hne. unfold apart. cbn [first long]. destruct (Z.lt_trichotomy n n') as [H|[<-|H]].
    + left. apply turns_gpu; auto.
    + destruct (Nat.lt_trichotomy i i') as [H|[<-|H]]; [left; apply turns_gpu; auto|congruence|right; apply turns_gpu; auto].
    + right. apply turns_gpu; auto.
  - intros i k n i' k' n' B B' Hne. unfold apart. cbn [first long]. destruct (Z.lt_trichotomy n n') as [H|[<-|H]].
    + left. apply turns_network; auto.
    + destruct (Nat.lt_trichotomy i i') as [H|[<-|H]]; [left; apply turns_network; auto| |right; apply turns_network; auto].
      destruct (Nat.lt_trichotomy k k') as [H|[<-|H]]; [left; apply turns_network; auto|congruence|right; apply turns_network; auto].
    + right. apply turns_network; auto.
  - cbn [computes carries in_turns]. lia.
  - cbn [computes carries in_turns]. destruct (served_within i k H) as [_ W]. rewrite served_S in W by exact H.
    pose proof (in_time i (proj1 H)). lia.
Qed.
End Turns.
End Jobs.

(** T* is attained, and so is every longer period; the order is that of the list. *)
Corollary period_attained jobs T : (forall j, In j jobs -> sound j) -> jobs <> [] -> period jobs <= T -> works jobs T (in_turns jobs T).
Proof. intros Hs Hne HT. apply turns_work; auto. destruct jobs; [congruence|simpl; lia]. Qed.

(** The four jobs of 7, 5, 3 and 8 on the GPUs and 4, 6, 9 and 2 on the network: 23. *)
Example four_jobs : period (map (fun cm => Job (fst cm) [Bucket (fst cm) (snd cm)]) [(7, 4); (5, 6); (3, 9); (8, 2)]) = 23.
Proof. reflexivity. Qed.
