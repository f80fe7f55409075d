(** The all-to-all on Cayley graphs attains its bound: for any finite group no right schedule under
    link-rounds has fewer rounds than prices of the generators ask for; and in an abelian one words
    for all differences have, by König's theorem, a timetable of as many rounds as the busiest
    generator and the longest word ask for. So where shortest words load all generators alike, the
    least number of rounds is the sum of the distances by the number of generators; a ring of an
    odd number of ranks is such. Left out: words that differ from rank to rank, time. *)
From Coq Require Import Bool List Arith ZArith Lia Permutation Sorted Mergesort Orders.
From Oraccl Require Import Konig Cut Round Timed Schedule Passing Bounds Replay InRounds Coverage Dual RoundPrices Translated.
Import ListNotations.
Open Scope Z_scope.

Module ByRoundOrder <: TotalLeBool.
  Definition t := (nat * nat)%type.
  Definition leb (a b : t) : bool := (fst a <=? fst b)%nat.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Nat.leb_le. lia. Qed.
End ByRoundOrder.
Module ByRound := Sort ByRoundOrder.

Section Graph.
Variable G : group.
Hypothesis laws : is_group G.
Notation n := (order G).
Infix "*g" := (mul G) (at level 40).
Variable gens : list nat.
Notation g := (length gens).
Hypothesis proper_gens : forall s, In s gens -> (s < n)%nat /\ s <> one G.
Variables lat bw : nat -> Z.
Variable m : nat.
Variable bytes : Z.
Notation gen := (gen G gens).
Notation cayley_links := (cayley_links G gens lat bw).
Notation chunk_of := (chunk_of G m).
Notation alltoall := (alltoall G gens lat bw m bytes).
Notation items := (items G m).
Notation ends_at := (ends_at G gens).
Notation keeps_order := (keeps_order G gens m).
Notation timetable := (timetable G m).
Notation translated := (translated G gens m).
Notation one_in := (one_in G laws).
Notation mul_in := (mul_in G laws).
Notation inv_in := (inv_in G laws).
Notation assoc := (assoc G laws).
Notation gen_in := (gen_in G gens proper_gens).
Notation items_once := (items_once G m).
Notation translated_right := (translated_right G laws gens proper_gens lat bw m bytes).
Notation rounds_within := (rounds_within G laws gens proper_gens lat bw m).
Notation in_items := (in_items G m).
Notation link_split := (link_split G gens lat bw).
Notation sum_translated := (sum_translated G laws).

(** ** The bound *)

Variable worth : nat -> Z. (* prices, by generator *)
Hypothesis fair : forall i, 0 <= worth i.
Definition of_link (i : nat) : Z := worth (i mod g).
Lemma worth_links : sum of_link (seq 0 (length cayley_links)) = Z.of_nat n * sum worth (seq 0 g).
Proof.
  rewrite sum_links, (sum_eq _ (fun _ => sum worth (seq 0 g))).
  - rewrite sum_const, seq_length. lia.
  - intros v _. apply sum_eq. intros i Hi. apply in_seq in Hi. unfold of_link. rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; auto; lia.
Qed.

(** [far p x] is what part p of what goes to x must pay for the links on its way at least. *)
Theorem alltoall_bound (far : nat -> nat -> Z) sch : right_in_rounds alltoall true sch ->
  (forall p, (p < m)%nat -> far p (one G) <= 0) ->
  (forall p x i, (p < m)%nat -> (x < n)%nat -> (i < g)%nat -> far p (x *g gen i) <= far p x + worth i) ->
  sum (fun d => sum (fun p => far p d) (seq 0 m)) (seq 0 n) <= rounds_of sch * sum worth (seq 0 g).
Proof.
  intros Good Hone Hfar.
  set (ks := flat_map (fun v => flat_map (fun w => map (chunk_of v w) (seq 0 m)) (seq 0 n)) (seq 0 n)).
  assert (E : sum (pays of_link sch) ks = sum (fun v => sum (fun w => sum (fun p => pays of_link sch (chunk_of v w p)) (seq 0 m)) (seq 0 n)) (seq 0 n)).
  { unfold ks. rewrite sum_flat_map. apply sum_eq. intros v _. rewrite sum_flat_map. apply sum_eq. intros w _. apply sum_map. }
  assert (In_seq : forall x k, In x (seq 0 k) -> (x < k)%nat) by (intros x k H; apply in_seq in H; lia).
  assert (P : forall v w p, (v < n)%nat -> (w < n)%nat -> (p < m)%nat -> far p (inv G v *g w) <= pays of_link sch (chunk_of v w p)).
  { intros v w p Hv Hw Hp. apply (chunk_pays alltoall true of_link ltac:(intros; apply fair) sch Good (fun u => far p (inv G v *g u)) v).
    - intros u x Hin Hc. apply in_pairs in Hin. destruct Hin as [v' [w' [p' [Hv' [Hw' [Hp' [= -> Ek ->]]]]]]].
      apply chunk_once in Ek; auto. destruct Ek as [<- _]. rewrite inv_left; auto.
    - intros i Hi. destruct (link_split i Hi) as [u [k [Hu [Hk ->]]]]. rewrite link_of by assumption. cbn [Cut.src Cut.dst].
      rewrite <- assoc by auto using inv_in, gen_in. unfold of_link.
      replace ((u * g + k) mod g)%nat with k by (rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; auto; lia).
      apply Hfar; auto using mul_in, inv_in.
    - exists (Round.only n v). split; [|apply only_contains; auto]. apply in_pairs. exists v, w, p. auto. }
  assert (B : sum (pays of_link sch) ks <= rounds_of sch * (Z.of_nat n * sum worth (seq 0 g))).
  { rewrite <- worth_links. change cayley_links with (links alltoall). apply (rounds_pay alltoall true of_link ltac:(intros; apply fair) sch Good).
    apply flat_once; [apply seq_NoDup| |].
    - intros v Hv. apply flat_once; [apply seq_NoDup| |].
      + intros w Hw. apply map_once; [apply seq_NoDup|]. intros p p' Hp Hp' Ek. apply chunk_once in Ek; auto. tauto.
      + intros w w' k Hw Hw' H H'. apply in_map_iff in H, H'. destruct H as [p [<- Hp]], H' as [p' [Ek Hp']].
        apply chunk_once in Ek; auto. intuition.
    - intros v v' k Hv Hv' H H'. apply in_flat_map in H, H'. destruct H as [w [Hw H]], H' as [w' [Hw' H']].
      apply in_map_iff in H, H'. destruct H as [p [<- Hp]], H' as [p' [Ek Hp']]. apply chunk_once in Ek; auto. intuition. }
  assert (T : Z.of_nat n * sum (fun d => sum (fun p => far p d) (seq 0 m)) (seq 0 n) <= sum (pays of_link sch) ks).
  { rewrite E, Z.mul_comm. rewrite <- (seq_length n 0) at 2. rewrite <- sum_const. apply sum_le. intros v Hv.
    rewrite <- (sum_translated (fun d => sum (fun p => far p d) (seq 0 m)) (inv G v)) by auto using inv_in.
    apply sum_le. intros w Hw. apply sum_le. intros p Hp. apply P; auto. }
  pose proof one_in. nia.
Qed.

(** ** Abelian groups: König's theorem makes the timetable *)

Section Words.
Hypothesis commutes : abelian G.
Variable words : nat -> nat -> list nat. (* by difference and part: the generators on the way *)
Hypothesis lead : forall d p, (d < n)%nat -> (p < m)%nat -> (forall i, In i (words d p) -> (i < g)%nat) /\ ends_at (one G) (words d p) = d.
Definition all_words : list nat := flat_map (fun x => words (fst x) (snd x)) items.
(** How many chunks a link of generator i carries. *)
Definition load (i : nat) : nat := length (filter (Nat.eqb i) all_words).
Variable C : nat.
Hypothesis short : forall d p, (d < n)%nat -> (p < m)%nat -> (length (words d p) <= C)%nat.
Hypothesis light : forall i, (i < g)%nat -> (load i <= C)%nat.

Definition number (x : nat * nat) : nat := (fst x * m + snd x)%nat.
Definition edges_of (x : nat * nat) : list edge := map (pair (number x)) (words (fst x) (snd x)).
Definition edges : list edge := flat_map edges_of items.
Lemma number_once x y : In x items -> In y items -> number x = number y -> x = y.
Proof.
  intros Hx Hy E. apply in_items in Hx, Hy. unfold number in E. rewrite !(Nat.mul_comm _ m) in E.
  destruct (Nat.div_mod_unique m _ _ _ _ (proj2 Hx) (proj2 Hy) E). destruct x, y; simpl in *; congruence.
Qed.
Lemma words_in x : In x items -> (forall i, In i (words (fst x) (snd x)) -> (i < g)%nat) /\ ends_at (one G) (words (fst x) (snd x)) = fst x /\
  (length (words (fst x) (snd x)) <= C)%nat.
Proof. intros H. apply in_items in H. destruct (lead (fst x) (snd x)); try tauto. split; [auto|]. split; [auto|]. apply short; tauto. Qed.
Lemma edges_left u : (forall x, In x items -> number x <> u) -> filter (at_left u) edges = [].
Proof.
  intros H. unfold edges. revert H. generalize items. intros l H. induction l as [|x l IH]; simpl; auto.
  rewrite filter_app, IH by (intros; apply H; right; auto). rewrite app_nil_r. unfold edges_of. specialize (H x (or_introl eq_refl)).
  induction (words (fst x) (snd x)) as [|i w IHw]; simpl; auto. unfold at_left at 1. simpl. destruct (Nat.eqb_spec (number x) u); [congruence|auto].
Qed.
Lemma edges_of_item x : In x items -> filter (at_left (number x)) edges = edges_of x.
Proof.
  intros Hx. assert (D : forall y, In y items -> number y = number x -> y = x) by (intros y Hy; apply number_once; auto).
  unfold edges. revert Hx D. generalize items_once. generalize items. intros l Hn. induction Hn as [|y l Hy Hl IH]; simpl; [tauto|].
  intros Hx D. rewrite filter_app.
  assert (Other : forall z, number z <> number x -> filter (at_left (number x)) (edges_of z) = []).
  { intros z Hz. unfold edges_of. induction (words (fst z) (snd z)) as [|i w IHw]; simpl; auto. unfold at_left at 1. simpl.
    destruct (Nat.eqb_spec (number z) (number x)); [congruence|auto]. }
  destruct Hx as [->|Hx].
  - assert (R : filter (at_left (number x)) (flat_map edges_of l) = []).
    { assert (N : forall z, In z l -> number z <> number x) by (intros z Hz E; rewrite (D z (or_intror Hz) E) in Hz; auto).
      clear - N Other. induction l as [|z l IH]; simpl; auto. rewrite filter_app, Other, IH; auto; intros; apply N; simpl; auto. }
    rewrite R, app_nil_r. unfold edges_of. induction (words (fst x) (snd x)) as [|i w IHw]; simpl; auto.
    unfold at_left at 1. simpl. rewrite Nat.eqb_refl, IHw. reflexivity.
  - rewrite IH; auto. rewrite Other; auto. intros E. rewrite (D y (or_introl eq_refl) E) in Hy. auto.
Qed.
Lemma degree_left u : (degree (at_left u) edges <= C)%nat.
Proof.
  unfold degree. destruct (in_dec Nat.eq_dec u (map number items)) as [H|H].
  - apply in_map_iff in H. destruct H as [x [<- Hx]]. rewrite edges_of_item by auto. unfold edges_of. rewrite map_length. apply words_in, Hx.
  - rewrite edges_left; [simpl; lia|]. intros x Hx E. apply H. rewrite <- E. apply in_map, Hx.
Qed.
Lemma in_all_words i : In i all_words -> (i < g)%nat.
Proof. intros H. apply in_flat_map in H. destruct H as [x [Hx H]]. apply (proj1 (words_in x Hx)), H. Qed.
Lemma degree_right i : (degree (at_right i) edges <= C)%nat.
Proof.
  assert (E : degree (at_right i) edges = load i).
  { unfold degree, load, edges, all_words. generalize items. intros l. induction l as [|x l IH]; simpl; auto.
    rewrite !filter_app, !app_length, IH. f_equal. unfold edges_of. induction (words (fst x) (snd x)) as [|k w IHw]; simpl; auto.
    unfold at_right at 1. simpl. rewrite (Nat.eqb_sym k i). destruct (i =? k)%nat; simpl; auto. }
  rewrite E. destruct (Nat.lt_ge_cases i g) as [H|H]; [apply light, H|]. unfold load.
  enough (F : filter (Nat.eqb i) all_words = []) by (rewrite F; simpl; lia). pose proof in_all_words as K. revert K. generalize all_words.
  intros l K. induction l as [|k l IH]; simpl; auto. rewrite IH by (intros; apply K; right; auto). specialize (K k (or_introl eq_refl)).
  destruct (Nat.eqb_spec i k); auto. lia.
Qed.

Lemma ends_permuted w w' : Permutation w w' -> (forall i, In i w -> (i < g)%nat) -> forall v, (v < n)%nat -> ends_at v w = ends_at v w'.
Proof.
  induction 1 as [|i w w' P IH|i k w|w w' w'' P IH P' IH']; intros K v Hv; simpl; auto.
  - apply IH; [intros; apply K; right; auto|]. apply mul_in; auto. apply gen_in, K. left. auto.
  - assert (gen i < n)%nat by (apply gen_in, K; simpl; auto). assert (gen k < n)%nat by (apply gen_in, K; simpl; auto).
    rewrite !assoc by auto. rewrite (commutes (gen i) (gen k)) by auto. reflexivity.
  - rewrite IH by auto. apply IH'; auto. intros i Hi. apply K. apply Permutation_sym in P. eapply Permutation_in; eauto.
Qed.

Section Colours.
Variable cs : list coloured.
Hypothesis all_coloured : map fst cs = edges.
Hypothesis fine : proper cs.
Hypothesis in_time : forall x, In x cs -> (snd x < C)%nat.
Definition at_item (u : nat) : list coloured := filter (fun x => at_left u (fst x)) cs.
Definition by_colour (x : coloured) : nat * nat := (snd x, snd (fst x)).
Definition konig_paths (d p : nat) : path := ByRound.sort (map by_colour (at_item (number (d, p)))).
Lemma path_permuted d p : Permutation (map by_colour (at_item (number (d, p)))) (konig_paths d p).
Proof. apply ByRound.Permuted_sort. Qed.
Lemma in_konig d p x : In x (konig_paths d p) -> exists e, In e cs /\ fst (fst e) = number (d, p) /\ by_colour e = x.
Proof.
  intros H. eapply Permutation_in in H; [|apply Permutation_sym, path_permuted]. apply in_map_iff in H. destruct H as [e [<- He]].
  apply filter_In in He. destruct He as [He E]. apply Nat.eqb_eq in E. eauto.
Qed.
Lemma colours_differ d p : NoDup (map fst (konig_paths d p)).
Proof.
  eapply Permutation_NoDup; [apply Permutation_map, path_permuted|]. rewrite map_map. cbn [by_colour fst].
  assert (P : ForallOrdPairs differ (at_item (number (d, p)))) by (apply pairs_filter, fine).
  assert (L : forall x, In x (at_item (number (d, p))) -> fst (fst x) = number (d, p)).
  { intros x Hx. apply filter_In in Hx. apply Nat.eqb_eq, Hx. }
  revert P L. generalize (at_item (number (d, p))). intros l P L. induction P as [|x l Hx Hl IH]; simpl; constructor.
  - intros H. apply in_map_iff in H. destruct H as [y [E Hy]]. rewrite Forall_forall in Hx.
    destruct (Hx y Hy (eq_sym E)) as [D _]. apply D. rewrite (L x), (L y); simpl; auto.
  - apply IH. intros y Hy. apply L. right. auto.
Qed.
Lemma path_word d p : (d < n)%nat -> (p < m)%nat -> Permutation (map snd (konig_paths d p)) (words d p).
Proof.
  intros Hd Hp. eapply Permutation_trans; [apply Permutation_map, Permutation_sym, path_permuted|]. rewrite map_map. cbn [by_colour snd].
  assert (E : map snd (filter (at_left (number (d, p))) edges) = words d p).
  { rewrite edges_of_item by (apply in_items; auto). unfold edges_of. rewrite map_map. cbn [fst snd]. apply map_id. }
  rewrite <- E, <- all_coloured. apply Permutation_refl'. unfold at_item. clear. induction cs as [|x l IH]; simpl; auto.
  destruct (at_left _ (fst x)); simpl; rewrite IH; reflexivity.
Qed.
Lemma rising_sorted w : StronglySorted (fun a b => is_true (ByRoundOrder.leb a b)) w -> NoDup (map fst w) -> rising w.
Proof.
  induction 1 as [|x w H IH F]; simpl; intros N; constructor; inversion N; subst.
  - apply IH. assumption.
  - rewrite Forall_forall in *. intros y Hy. specialize (F y Hy). apply Nat.leb_le in F.
    assert (fst x <> fst y); [|lia]. intros E. apply H2. rewrite E. apply in_map, Hy.
Qed.
Lemma konig_keeps_order : keeps_order konig_paths.
Proof.
  split.
  - intros d p Hd Hp. split; [|split].
    + apply rising_sorted; [|apply colours_differ]. apply ByRound.StronglySorted_sort.
      intros x y z. unfold ByRoundOrder.leb, is_true. rewrite !Nat.leb_le. lia.
    + intros x Hx. apply (proj1 (lead d p Hd Hp)). eapply Permutation_in; [apply (path_word d p Hd Hp)|]. apply in_map, Hx.
    + destruct (lead d p Hd Hp) as [K E]. rewrite <- E at 2. symmetry. apply ends_permuted; [|exact K|apply one_in].
      apply Permutation_sym, path_word; auto.
  - apply flat_once; [apply items_once| |].
    + intros x _. apply NoDup_map_inv with (f := fst), colours_differ.
    + intros x y z Hx Hy Hz Hz'. apply in_konig in Hz, Hz'. destruct Hz as [e [He [Le Be]]], Hz' as [e' [He' [Le' Be']]].
      rewrite <- surjective_pairing in Le, Le'. rewrite <- Be' in Be. injection Be as B1 B2.
      apply number_once; auto. destruct (proper_pair cs e e' fine He He') as [->|D]; [congruence|].
      destruct (D B1) as [_ D2]. congruence.
Qed.
Lemma konig_in_time x : In x (timetable konig_paths) -> (fst x < C)%nat.
Proof.
  intros H. apply in_flat_map in H. destruct H as [y [_ H]]. apply in_konig in H. destruct H as [e [He [_ <-]]]. apply in_time, He.
Qed.
End Colours.

(** As many rounds are enough as the busiest generator and the longest word ask for. *)
Theorem alltoall_attained : exists sch, right_in_rounds alltoall true sch /\ rounds_of sch <= Z.of_nat C.
Proof.
  destruct (konig C edges degree_left degree_right) as [cs [E [P T]]].
  exists (translated (konig_paths cs)). split; [apply translated_right, konig_keeps_order; auto|].
  apply rounds_within; [apply konig_keeps_order; auto|]. apply konig_in_time, T.
Qed.

Definition price_of (w : list nat) : Z := sum worth w.
Hypothesis cheapest : forall d p w, (d < n)%nat -> (p < m)%nat -> (forall i, In i w -> (i < g)%nat) -> ends_at (one G) w = d ->
  price_of (words d p) <= price_of w.
(** No schedule has fewer rounds than what the cheapest words cost, by what the generators earn in a round. *)
Theorem words_bound sch : right_in_rounds alltoall true sch -> price_of all_words <= rounds_of sch * sum worth (seq 0 g).
Proof.
  intros Good. eapply Z.le_trans; [|apply (alltoall_bound (fun p d => price_of (words d p)) sch Good)].
  - apply Z.eq_le_incl. unfold price_of at 1, all_words, items. rewrite sum_flat_map, sum_flat_map. apply sum_eq. intros d _. rewrite sum_map. reflexivity.
  - intros p Hp. apply (cheapest (one G) p []); auto using one_in. intros i [].
  - intros p x i Hp Hx Hi. destruct (lead x p Hx Hp) as [K E]. eapply Z.le_trans.
    + apply (cheapest (x *g gen i) p (words x p ++ [i])); auto using mul_in, gen_in.
      * intros k Hk. apply in_app_or in Hk. destruct Hk as [Hk|[<-|[]]]; auto.
      * unfold ends_at. rewrite fold_left_app. fold (ends_at (one G) (words x p)). rewrite E. reflexivity.
    + unfold price_of. rewrite sum_app. simpl. lia.
Qed.
(** Where one round less does not earn what the words cost, that many rounds are the least. *)
Theorem alltoall_optimal : (Z.of_nat C - 1) * sum worth (seq 0 g) < price_of all_words ->
  (exists sch, right_in_rounds alltoall true sch /\ rounds_of sch = Z.of_nat C) /\
  forall sch, right_in_rounds alltoall true sch -> Z.of_nat C <= rounds_of sch.
Proof.
  intros Hc. assert (B : forall sch, right_in_rounds alltoall true sch -> Z.of_nat C <= rounds_of sch).
  { intros sch Good. pose proof (words_bound sch Good). assert (0 <= sum worth (seq 0 g)) by (apply sum_pos; auto). nia. }
  split; auto. destruct alltoall_attained as [sch [Good Le]]. exists sch. split; auto. specialize (B sch Good). lia.
Qed.
End Words.
End Graph.

(** Where shortest words load all generators alike, an all-to-all takes just as many rounds as
    each link carries chunks: the sum of all distances by the number of links of a rank. *)
Theorem even_loads_optimal G gens lat bw m bytes words C : is_group G -> abelian G ->
  (forall s, In s gens -> (s < order G)%nat /\ s <> one G) -> gens <> [] ->
  (forall d p, (d < order G)%nat -> (p < m)%nat -> (forall i, In i (words d p) -> (i < length gens)%nat) /\ ends_at G gens (one G) (words d p) = d) ->
  (forall d p w, (d < order G)%nat -> (p < m)%nat -> (forall i, In i w -> (i < length gens)%nat) -> ends_at G gens (one G) w = d ->
     (length (words d p) <= length w)%nat) ->
  (forall d p, (d < order G)%nat -> (p < m)%nat -> (length (words d p) <= C)%nat) ->
  (forall i, (i < length gens)%nat -> load G m words i = C) ->
  (exists sch, right_in_rounds (alltoall G gens lat bw m bytes) true sch /\ rounds_of sch = Z.of_nat C) /\
  (forall sch, right_in_rounds (alltoall G gens lat bw m bytes) true sch -> Z.of_nat C <= rounds_of sch) /\
  (C * length gens = length (all_words G m words))%nat.
Proof.
  intros Laws Comm Gens Some Lead Short Long Load.
  assert (One : forall w, sum (fun _ : nat => 1) w = Z.of_nat (length w)) by (intros; apply sum_one).
  assert (E : (C * length gens = length (all_words G m words))%nat).
  { apply Nat2Z.inj. rewrite <- One, (sum_by (fun i => i) _ (seq 0 (length gens))).
    - rewrite (sum_eq _ (fun _ => Z.of_nat C)); [rewrite sum_const, seq_length; lia|]. intros i Hi. apply in_seq in Hi.
      rewrite One. rewrite <- (Load i) by lia. unfold load. do 2 f_equal. apply filter_ext. intros k. apply Nat.eqb_sym.
    - apply seq_NoDup.
    - intros i Hi. apply in_seq. apply in_flat_map in Hi. destruct Hi as [x [Hx Hi]]. apply in_items in Hx.
      destruct (Lead (fst x) (snd x)) as [K _]; try tauto. specialize (K i Hi). lia. }
  enough (H : (exists sch, right_in_rounds (alltoall G gens lat bw m bytes) true sch /\ rounds_of sch = Z.of_nat C) /\
    (forall sch, right_in_rounds (alltoall G gens lat bw m bytes) true sch -> Z.of_nat C <= rounds_of sch)) by tauto.
  apply (alltoall_optimal G Laws gens Gens lat bw m bytes (fun _ => 1)) with (words := words); auto.
  - lia.
  - intros i Hi. rewrite Load by exact Hi. lia.
  - intros d p w Hd Hp Hw Ew. unfold price_of. rewrite !One. apply inj_le. auto.
  - unfold price_of. rewrite !One, <- E, seq_length. destruct gens; [congruence|simpl length]. nia.
Qed.

(** ** Rings of an odd number of ranks *)

Definition cyclic (n : nat) : group := Group n (fun a b => ((a + b) mod n)%nat) 0 (fun a => ((n - a) mod n)%nat).
Lemma cyclic_laws n : (0 < n)%nat -> is_group (cyclic n) /\ abelian (cyclic n).
Proof.
  intros Hn. unfold is_group, abelian. simpl. repeat split; intros; try (apply Nat.mod_upper_bound; lia); auto.
  - apply Nat.mod_small. assumption.
  - rewrite Nat.add_0_r. apply Nat.mod_small. assumption.
  - rewrite Nat.add_mod_idemp_r by lia. replace (x + (n - x))%nat with n by lia. apply Nat.mod_same. lia.
  - rewrite Nat.add_mod_idemp_l by lia. replace (n - x + x)%nat with n by lia. apply Nat.mod_same. lia.
  - rewrite Nat.add_mod_idemp_l, Nat.add_mod_idemp_r by lia. rewrite Nat.add_assoc. reflexivity.
  - rewrite Nat.add_comm. reflexivity.
Qed.
Definition both_ways (n : nat) : list nat := [1%nat; (n - 1)%nat].
(** The shorter way round: up to h steps one way, the others the other way. *)
Definition shorter (h d : nat) : list nat := if (d <=? h)%nat then repeat 0%nat d else repeat 1%nat (2 * h + 1 - d).
Definition triangle (h : nat) : nat := (h * (h + 1) / 2)%nat.
Lemma triangle_S h : triangle (S h) = (triangle h + S h)%nat.
Proof. unfold triangle. replace (S h * (S h + 1))%nat with (h * (h + 1) + S h * 2)%nat by lia. apply Nat.div_add. lia. Qed.
Lemma ends_repeat n i v k : (0 < n)%nat -> (v < n)%nat ->
  ends_at (cyclic n) (both_ways n) v (repeat i k) = ((v + k * gen (cyclic n) (both_ways n) i) mod n)%nat.
Proof.
  intros Hn. revert v. induction k as [|k IH]; intros v Hv.
  - simpl. rewrite Nat.add_0_r, Nat.mod_small; auto.
  - change (ends_at (cyclic n) (both_ways n) v (repeat i (S k))) with
      (ends_at (cyclic n) (both_ways n) ((v + gen (cyclic n) (both_ways n) i) mod n)%nat (repeat i k)).
    rewrite IH by (apply Nat.mod_upper_bound; lia). rewrite Nat.add_mod_idemp_l by lia. f_equal. lia.
Qed.
Lemma ring_near n w : (2 < n)%nat -> (forall i, In i w -> (i < 2)%nat) -> forall v, (v < n)%nat ->
  (Nat.min (ends_at (cyclic n) (both_ways n) v w) (n - ends_at (cyclic n) (both_ways n) v w) <= Nat.min v (n - v) + length w)%nat.
Proof.
  intros Hn. induction w as [|i w IH]; intros K v Hv; [simpl; lia|].
  change (ends_at (cyclic n) (both_ways n) v (i :: w)) with (ends_at (cyclic n) (both_ways n) ((v + gen (cyclic n) (both_ways n) i) mod n)%nat w).
  cbn [length]. set (u := ((v + gen (cyclic n) (both_ways n) i) mod n)%nat).
  assert (Hu : (u < n)%nat) by (apply Nat.mod_upper_bound; lia). specialize (IH (fun k Hk => K k (or_intror Hk)) u Hu).
  assert (Nat.min u (n - u) <= Nat.min v (n - v) + 1)%nat; [|lia].
  specialize (K i (or_introl eq_refl)). unfold u, gen, both_ways. destruct i as [|[|i]]; [| |lia]; simpl.
  - destruct (Nat.eq_dec (v + 1) n) as [->|]; [rewrite Nat.mod_same by lia|rewrite Nat.mod_small by lia]; lia.
  - destruct v as [|v]; [rewrite Nat.mod_small by lia; lia|]. replace (S v + (n - 1))%nat with (v + 1 * n)%nat by lia.
    rewrite Nat.mod_add, Nat.mod_small by lia. lia.
Qed.
Lemma repeat_count i k b : length (filter (Nat.eqb i) (repeat b k)) = if (i =? b)%nat then k else 0%nat.
Proof. destruct (Nat.eqb_spec i b) as [->|H]; induction k as [|k IH]; simpl; auto; [rewrite Nat.eqb_refl|destruct (Nat.eqb_spec i b); [congruence|]]; simpl; auto. Qed.
Lemma ring_loads h m i : (i < 2)%nat -> load (cyclic (2 * h + 1)) m (fun d _ => shorter h d) i = (m * triangle h)%nat.
Proof.
  intros Hi. apply Nat2Z.inj. unfold load, all_words, items. rewrite count_sum, sum_flat_map, sum_flat_map. cbn [order cyclic].
  rewrite (sum_eq _ (fun d => Z.of_nat m * sum (fun k => if (i =? k)%nat then 1 else 0) (shorter h d))).
  2: { intros d _. rewrite sum_map. cbn [fst]. rewrite sum_const, seq_length. lia. }
  rewrite sum_mul, Nat2Z.inj_mul. f_equal.
  rewrite (sum_eq _ (fun d => Z.of_nat (if (d <=? h)%nat then if (i =? 0)%nat then d else 0 else if (i =? 1)%nat then 2 * h + 1 - d else 0))).
  2: { intros d _. rewrite <- count_sum. unfold shorter. destruct (d <=? h)%nat; rewrite repeat_count; reflexivity. }
  replace (seq 0 (2 * h + 1)) with (seq 0 (S h) ++ seq (S h) h) by (rewrite <- seq_app; f_equal; lia). rewrite sum_app.
  assert (Up : forall k, sum Z.of_nat (seq 0 (S k)) = Z.of_nat (triangle k)).
  { induction k as [|k IH]; [reflexivity|]. rewrite seq_S, sum_app, IH, triangle_S. simpl sum. lia. }
  assert (Down : forall k b, sum (fun d => Z.of_nat (b + k - d)%nat) (seq b k) = Z.of_nat (triangle k)).
  { induction k as [|k IH]; intros b; [reflexivity|]. rewrite triangle_S. cbn [seq sum fold_right]. fold (sum (fun d => Z.of_nat (b + S k - d)%nat) (seq (S b) k)).
    replace (b + S k)%nat with (S b + k)%nat by lia. rewrite IH. lia. }
  destruct i as [|[|i]]; [| |lia].
  - rewrite (sum_eq _ Z.of_nat (seq 0 (S h))), Up, (sum_eq _ (fun _ => 0)), sum_0; [lia| |].
    + intros d Hd. apply in_seq in Hd. destruct (Nat.leb_spec d h); [lia|reflexivity].
    + intros d Hd. apply in_seq in Hd. destruct (Nat.leb_spec d h); [reflexivity|lia].
  - rewrite (sum_eq _ (fun _ => 0)), sum_0, (sum_eq _ (fun d => Z.of_nat (S h + h - d)%nat)), Down; [lia| |].
    + intros d Hd. apply in_seq in Hd. destruct (Nat.leb_spec d h); [lia|]. cbn [Nat.eqb]. f_equal. lia.
    + intros d Hd. apply in_seq in Hd. destruct (Nat.leb_spec d h); [reflexivity|lia].
Qed.
(** On a ring of 2h+1 ranks an all-to-all of m chunks a pair takes m h(h+1)/2 rounds. *)
Theorem ring_optimal h m lat bw bytes : (0 < h)%nat -> let ring := alltoall (cyclic (2 * h + 1)) (both_ways (2 * h + 1)) lat bw m bytes in
  (exists sch, right_in_rounds ring true sch /\ rounds_of sch = Z.of_nat (m * triangle h)) /\
  forall sch, right_in_rounds ring true sch -> Z.of_nat (m * triangle h) <= rounds_of sch.
Proof.
  intros Hh ring. set (n := (2 * h + 1)%nat) in *. destruct (cyclic_laws n ltac:(lia)) as [Laws Comm].
  assert (Len : forall d, (d < n)%nat -> length (shorter h d) = Nat.min d (n - d)).
  { intros d Hd. unfold shorter. destruct (Nat.leb_spec d h); rewrite repeat_length; lia. }
  destruct (even_loads_optimal (cyclic n) (both_ways n) lat bw m bytes (fun d _ => shorter h d) (m * triangle h)) as [A [B _]]; auto.
  - intros s [<-|[<-|[]]]; simpl; lia.
  - discriminate.
  - intros d p Hd _. cbn [order cyclic] in Hd. split.
    + intros i Hi. unfold shorter in Hi. simpl. destruct (d <=? h)%nat; apply repeat_spec in Hi; lia.
    + change (one (cyclic n)) with 0%nat. unfold shorter. destruct (Nat.leb_spec d h); rewrite ends_repeat by lia; unfold gen, both_ways; cbn [nth]; rewrite Nat.add_0_l.
      * rewrite Nat.mul_1_r. apply Nat.mod_small. exact Hd.
      * fold n. replace ((n - d) * (n - 1))%nat with (d + (n - d - 1) * n)%nat by nia. rewrite Nat.mod_add by lia. apply Nat.mod_small. exact Hd.
  - intros d p w Hd _ Hw <-. cbn [order cyclic] in Hd. rewrite Len by exact Hd.
    pose proof (ring_near n w ltac:(lia) Hw 0 ltac:(lia)). simpl one. lia.
  - intros d p Hd Hp. cbn [order cyclic] in Hd. rewrite Len by exact Hd.
    assert (h <= triangle h)%nat; [|nia]. destruct h as [|h]; [lia|]. rewrite triangle_S. lia.
  - intros i Hi. apply ring_loads. exact Hi.
Qed.
