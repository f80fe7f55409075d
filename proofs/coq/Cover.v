(** The rule coverage of package cert, as a function that decides, proved: times and latencies
    are found by relaxation, which nobody trusts, and checked link by link, and so are the
    switches to which what adds leads, and those that lead to what copies. *)
From Coq Require Import Bool List ZArith Lia Mergesort Orders.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds InRounds Copying Adding Loose Coverage.
Import ListNotations.
Open Scope Z_scope.

Module ByTime <: TotalLeBool.
  Definition t := Z.
  Definition leb := Z.leb.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ByTime.
Module Times := Sort ByTime.

(** [g] has at least as many times over as [l] has, always. *)
Definition covers (g l : list Z) : bool := forallb (fun t => over l t <=? over g t) l.
Lemma over_none l t : (forall x, In x l -> t < x) -> over l t = 0.
Proof. intros H. apply sum_zero. intros x Hx. destruct (Z.leb_spec x t); auto. specialize (H x Hx). lia. Qed.
Lemma last_over l t : (forall x, In x l -> t < x) \/
  exists x, In x l /\ x <= t /\ forall y, In y l -> y <= t -> y <= x.
Proof.
  induction l as [|a l IH]; [left; simpl; tauto|]. destruct IH as [IH|[x [A [B C]]]], (Z_le_gt_dec a t) as [L|L].
  - right. exists a. repeat split; auto; [left; auto|]. intros y [->|Hy] H; [lia|]. specialize (IH y Hy). lia.
  - left. intros x [->|Hx]; [lia|auto].
  - right. exists (Z.max a x). repeat split; [|lia|].
    + destruct (Z.max_spec a x) as [[_ ->]|[_ ->]]; [right|left]; auto.
    + intros y [->|Hy] H; [lia|]. specialize (C y Hy H). lia.
  - right. exists x. repeat split; [right; auto|auto|]. intros y [->|Hy] H; [lia|auto].
Qed.
Lemma covers_spec g l : covers g l = true -> forall t, over l t <= over g t.
Proof.
  unfold covers. rewrite forallb_forall. intros H t. destruct (last_over l t) as [N|[x [A [B C]]]].
  - rewrite over_none by auto. apply sum_pos. intros y _. destruct (y <=? t); lia.
  - specialize (H x A). apply Z.leb_le in H.
    replace (over l t) with (over l x).
    + pose proof (over_mono g x t B). lia.
    + apply sum_eq. intros y Hy. specialize (C y Hy). destruct (Z.leb_spec y x), (Z.leb_spec y t); lia.
Qed.

(** The earliest of each place of two ascending lists, and what is left of the longer. *)
Fixpoint earliest (a b : list Z) : list Z :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | x :: a, y :: b => Z.min x y :: earliest a b
  end.
Definition envelope (ls : list (list Z)) : list Z := fold_right (fun l g => earliest (Times.sort l) g) [] ls.

(** ** Found by relaxation *)

Definition never : Z := 2 ^ 62.
Fixpoint lower (p : list Z) (v : nat) (t : Z) : list Z :=
  match p, v with
  | [], _ => []
  | x :: p, O => Z.min x t :: p
  | x :: p, S v => x :: lower p v t
  end.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

Definition size_of_net : nat :=
  fold_right (fun l n => Nat.max (S (Cut.src l)) (Nat.max (S (Cut.dst l)) n)) (nodes j) (links j).
Definition nowhere : list Z := repeat never size_of_net.
Definition relax (wait : nat -> Z) (b : Z) (l : link) (p : list Z * list Z) : list Z * list Z :=
  let (full, head) := p in
  let u := Cut.src l in let v := Cut.dst l in
  let h := (if is_rank j u then Z.max (potential full u) (wait u) else potential head u) + latency l in
  let f := Z.max (if is_rank j u then h else potential full u + latency l) (h + beta l b) in
  if is_rank j v then (lower full v (Z.max f (wait v + latency l + beta l b)), head)
  else (lower full v f, lower head v h).
Definition relax_lead (u : nat) (l : link) (p : list Z) : list Z :=
  if is_rank j (Cut.src l) && negb (Cut.src l =? u)%nat then p
  else lower p (Cut.dst l) (potential p (Cut.src l) + latency l).
Fixpoint until_still {A} (same : A -> A -> bool) (f : A -> A) (n : nat) (x : A) : A :=
  match n with
  | O => x
  | S n => let y := f x in if same x y then x else until_still same f n y
  end.
Fixpoint same_times (a b : list Z) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (x =? y) && same_times a b | _, _ => false end.
Definition spread_from (wait : nat -> Z) (on : link -> bool) (b : Z) (u : nat) (at_u : Z) : list Z * list Z :=
  let ls := filter on (links j) in
  until_still (fun p q => same_times (fst p) (fst q) && same_times (snd p) (snd q))
    (fun p => fold_left (fun p l => relax wait b l p) ls p) (2 * size_of_net) (lower nowhere u at_u, nowhere).
Definition lead_from (on : link -> bool) (u : nat) : list Z :=
  let ls := filter on (links j) in
  until_still same_times (fun p => fold_left (fun p l => relax_lead u l p) ls p) size_of_net (lower nowhere u 0).

(** Nodes from which, or to which, links over switches alone lead from [first] ones: 0 there, [never] elsewhere. *)
Definition reach_from (tail head : link -> nat) (on : link -> bool) (first : nat -> bool) : list Z :=
  let ls := filter (fun l => on l && negb (is_rank j (tail l)) && negb (is_rank j (head l))) (links j) in
  until_still same_times (fun p => fold_left (fun p l => lower p (head l) (potential p (tail l))) ls p) size_of_net
    (map (fun v => if negb (is_rank j v) && first v then 0 else never) (seq 0 size_of_net)).
Definition reached (p : list Z) (v : nat) : bool := potential p v <? never.

(** ** The rule *)

Section Rule.
Variable net : network.
Variable X : nat -> bool.
Variables W V : list nat. (* ranks whose contributions, and whose needs, count *)

Definition chunks_of : list nat := seq 0 (length (sizes j)).
Definition ranks_of : list nat := seq 0 (nodes j).
Definition into : list nat := some_links j (enters X).

(** What is said of chunk k at the start and at the end. *)
Definition said_of (k : nat) (l : list (nat * nat * value)) : list (nat * nat * value) :=
  filter (fun e => (snd (fst e) =? k)%nat) l.
Definition sources_of (k : nat) : list nat :=
  let start := said_of k (pre j) in
  filter (fun w => existsb (fun e => containsb (snd e) w) start &&
    forallb (fun e => negb (containsb (snd e) w) || negb (X (fst (fst e)))) start) (nodup Nat.eq_dec W).
Definition needers_of (k : nat) : list nat :=
  let srcs := sources_of k in
  let goal := said_of k (post j) in
  filter (fun v => X v && existsb (fun e => (fst (fst e) =? v)%nat && forallb (containsb (snd e)) srcs) goal) (nodup Nat.eq_dec V).
Definition pairs_of (k : nat) : Z := Z.of_nat (length (sources_of k)) * Z.of_nat (length (needers_of k)).

(** By contribution, rank and node: times there; of what does not count, nothing. By node: [summed] and [parted] of Coverage.v. *)
Record tables := Tables {
  t_full : list (list Z * list Z);
  t_lead : list (list Z);
  t_onto : list (list Z * list Z);
  t_beyond : list (list Z);
  t_summed : list Z;
  t_parted : list Z }.
Definition find_tables (b : Z) : tables :=
  Tables
    (map (fun w => if existsb (Nat.eqb w) W then spread_from (arrival j) (fun _ => true) b w (Z.max 0 (arrival j w)) else ([], [])) ranks_of)
    (map (lead_from (fun _ => true)) ranks_of)
    (map (fun z => if X z then spread_from (fun _ => 0) (inner X) b z 0 else ([], [])) ranks_of)
    (map (fun y => if X y then lead_from (inner X) y else []) (seq 0 size_of_net))
    (reach_from Cut.src Cut.dst (fun _ => true) (adding net))
    (reach_from Cut.dst Cut.src (inner X) (fun v => X v && copying net v)).

Section Tables.
Variable tb : tables.
Definition full_of (w : nat) : list Z := fst (nth w (t_full tb) ([], [])).
Definition head_of (w : nat) : list Z := snd (nth w (t_full tb) ([], [])).
Definition lead_of (u : nat) : list Z := nth u (t_lead tb) [].
Definition onto_of (z : nat) : list Z := fst (nth z (t_onto tb) ([], [])).
Definition onto_head_of (z : nat) : list Z := snd (nth z (t_onto tb) ([], [])).
Definition beyond_of (y : nat) : list Z := nth y (t_beyond tb) [].
Definition summed_of : nat -> bool := reached (t_summed tb).
Definition parted_of : nat -> bool := reached (t_parted tb).

Definition tables_ok (b : Z) : bool :=
  (0 <=? b) &&
  forallb (fun w => forallb (rises_well j (arrival j) (full_of w) (head_of w) b) (links j) &&
    forallb (fun e => negb (containsb (snd e) w) || (potential (full_of w) (fst (fst e)) <=? arrival j (fst (fst e)))) (pre j)) W &&
  forallb (fun u => lead_ok j (fun _ => true) u (lead_of u)) ranks_of &&
  forallb (fun z => negb (X z) || (potential (onto_of z) z <=? 0) &&
    forallb (fun l => negb (inner X l) || rises_well j (fun _ => 0) (onto_of z) (onto_head_of z) b l) (links j)) ranks_of &&
  forallb (fun i => lead_ok j (inner X) (Cut.dst (at_link i)) (beyond_of (Cut.dst (at_link i)))) into &&
  forallb (fun l => sums_go_on j net summed_of l && copies_go_back j X net parted_of l) (links j).

Variable within : bool.
Variables sources dests : list (list nat). (* of any chunk *)
(** By rank from which all comes, or where what adds leads to the link, from the best for each. *)
Definition starts_of (i : nat) : list nat := let x := Cut.src (at_link i) in if is_rank j x then [x] else ranks_of.
Definition heads_of (i : nat) : list (list Z) :=
  if alone_before j summed_of i then flat_map (fun u => map (map (early j full_of lead_of i u)) sources) (starts_of i)
  else map (map (fun w => least (map (fun u => early j full_of lead_of i u w) (starts_of i)))) sources.
(** By rank to which all goes, or where the link leads to a switch of the set that copies, to the best for each. *)
Definition stops_of (i : nat) : list nat := let y := Cut.dst (at_link i) in filter X (if is_rank j y then [y] else ranks_of).
Definition tails_of (i : nat) : list (list Z) :=
  if alone_behind j parted_of i then flat_map (fun z => map (map (late j within onto_of beyond_of i z)) dests) (stops_of i)
  else map (map (fun v => least (map (fun z => late j within onto_of beyond_of i z v) (stops_of i)))) dests.
Definition enveloped : bool :=
  forallb (fun i => (let g := envelope (heads_of i) in forallb (covers g) (heads_of i)) &&
                    (let h := envelope (tails_of i) in forallb (covers h) (tails_of i))) into.
Definition carried_by (T : Z) : Z :=
  sum (fun i => bandwidth (at_link i) *
    sum (fun g => sum (fun h => Z.max 0 (T - g - h)) (envelope (tails_of i))) (envelope (heads_of i))) into.
End Tables.

Definition distinct_of (ls : list (list nat)) : list (list nat) := nodup (list_eq_dec Nat.eq_dec) ls.

(** The links into the set cannot carry all pairs by [T], each byte of chunk k of this weight. *)
Definition uncovered (within : bool) (b : Z) (weight : nat -> Z) (T : Z) : bool :=
  let tb := find_tables b in
  let srcs := distinct_of (map sources_of chunks_of) in
  let dests := distinct_of (map needers_of chunks_of) in
  tables_ok tb b && enveloped tb within srcs dests &&
  (carried_by tb within srcs dests T <? sum (fun k => weight k * pairs_of k) chunks_of).

Definition paired (k : nat) : bool :=
  match sources_of k, needers_of k with _ :: _, _ :: _ => true | _, _ => false end.
Definition least_paired : Z := least (map (size j) (filter paired chunks_of)).
Definition weight_of (within : bool) (k : nat) : Z :=
  match into with
  | [] => 1
  | _ => Z.max 0 (least (map (fun i => bandwidth (at_link i) * (beta (at_link i) (size j k) + if within then beside j i else 0)) into))
  end.

Definition coverage_rule (bound : Z) : bool :=
  uncovered false least_paired (weight_of false) (bound - 1) || uncovered true least_paired (weight_of true) (bound - 1).

(** ** It is sound *)

Lemma over_map_le {A} (f g : A -> Z) l t : (forall x, In x l -> g x <= f x) -> over (map f l) t <= over (map g l) t.
Proof. intros H. unfold over. rewrite !sum_map. apply sum_le. intros x Hx. specialize (H x Hx). destruct (Z.leb_spec (f x) t), (Z.leb_spec (g x) t); lia. Qed.
Lemma starts_in i u : begins_at j i u -> In u (starts_of i).
Proof.
  intros [Hu Hs]. unfold starts_of. destruct (is_rank j (Cut.src (at_link i))); [left; symmetry; auto|apply in_seq; lia].
Qed.
Lemma stops_in i z : ends_at j X i z -> In z (stops_of i).
Proof.
  intros [Hz [Xz Hs]]. unfold stops_of. apply filter_In. split; auto. destruct (is_rank j (Cut.dst (at_link i))); [left; symmetry; auto|apply in_seq; lia].
Qed.
Lemma heads_in tb srcs i s (from : nat -> nat) : (forall w, begins_at j i (from w)) ->
  (alone_before j (summed_of tb) i = true -> forall w w', from w = from w') -> In s srcs ->
  exists l, In l (heads_of tb srcs i) /\ forall t, over (map (fun w => early j (full_of tb) (lead_of tb) i (from w) w) s) t <= over l t.
Proof.
  intros Hf Ha Hin. unfold heads_of. destruct (alone_before j (summed_of tb) i).
  - exists (map (early j (full_of tb) (lead_of tb) i (from O)) s). split.
    + apply in_flat_map. exists (from O). split; [apply starts_in, Hf|]. apply in_map, Hin.
    + intros t. apply over_map_le. intros w _. rewrite (Ha eq_refl w O). lia.
  - eexists. split; [apply in_map, Hin|]. intros t. apply over_map_le. intros w _. apply least_le.
    apply (in_map (fun u => early j (full_of tb) (lead_of tb) i u w)), starts_in, Hf.
Qed.
Lemma tails_in tb within dests i s (to : nat -> nat) : (forall v, ends_at j X i (to v)) ->
  (alone_behind j (parted_of tb) i = true -> forall v v', to v = to v') -> In s dests ->
  exists l, In l (tails_of tb within dests i) /\ forall t, over (map (fun v => late j within (onto_of tb) (beyond_of tb) i (to v) v) s) t <= over l t.
Proof.
  intros Hf Ha Hin. unfold tails_of. destruct (alone_behind j (parted_of tb) i).
  - exists (map (late j within (onto_of tb) (beyond_of tb) i (to O)) s). split.
    + apply in_flat_map. exists (to O). split; [apply stops_in, Hf|]. apply in_map, Hin.
    + intros t. apply over_map_le. intros w _. rewrite (Ha eq_refl w O). lia.
  - eexists. split; [apply in_map, Hin|]. intros t. apply over_map_le. intros v _. apply least_le.
    apply (in_map (fun z => late j within (onto_of tb) (beyond_of tb) i z v)), stops_in, Hf.
Qed.

(** Another job on the same network, each chunk of which is said to be where one of [j] is. *)
Section Another.
Variable sizes' : list Z.
Variables pre' post' : list (nat * nat * value).
Variable of : nat -> nat.
Notation j' := (Job (nodes j) (links j) (ports j) (model j) (release j) sizes' (idempotent j) pre' post').
Notation chunks' := (seq 0 (length sizes')).
Hypothesis known : forall k, In k chunks' -> In (of k) chunks_of.
Hypothesis starts : forall u k x, In k chunks' -> In ((u, k), x) pre' -> In ((u, of k), x) (pre j).
Hypothesis needs : forall v k x, In k chunks' -> In ((v, of k), x) (post j) -> In ((v, k), x) post'.

Lemma in_classes (f : nat -> list nat) k : In k chunks' -> In (f (of k)) (distinct_of (map f chunks_of)).
Proof. intros H. apply nodup_In, in_map, known, H. Qed.

Theorem uncovered_sound (within : bool) b weight weight' T occ sch : positive j' ->
  (forall k, In k chunks' -> pairs_of (of k) <> 0 -> b <= size j' k) ->
  (forall k, 0 <= weight' k /\ forall i, (i < length (links j))%nat -> enters X (at_link i) = true ->
     weight' k <= bandwidth (at_link i) * (beta (at_link i) (size j' k) + if within then beside j i else 0)) ->
  sum (fun k => weight k * pairs_of k) chunks_of <= sum (fun k => weight' k * pairs_of (of k)) chunks' ->
  uncovered within b weight T = true -> loose j' net occ sch -> T < makespan sch.
Proof.
  intros Hp Hb Hw Hsum H Hr. apply Z.lt_nge. intros HT. unfold uncovered in H.
  set (tb := find_tables b) in *. set (srcs := distinct_of (map sources_of chunks_of)) in *.
  set (dests := distinct_of (map needers_of chunks_of)) in *.
  rewrite !andb_true_iff in H. destruct H as [[Ht He] Hlt]. apply Z.ltb_lt in Hlt.
  unfold tables_ok in Ht. rewrite !andb_true_iff, !forallb_forall in Ht.
  destruct Ht as [[[[[Hb0 Hfull] Hlead] Honto] Hbeyond] Hsw]. apply Z.leb_le in Hb0.
  unfold enveloped in He. rewrite forallb_forall in He.
  assert (Hin : forall i, (i < length (links j))%nat -> enters X (at_link i) = true -> In i into)
    by (intros; apply in_some_links; auto).
  (* what has no pairs does not count *)
  set (S := fun k => if existsb (Nat.eqb k) chunks' then if pairs_of (of k) =? 0 then [] else sources_of (of k) else []).
  set (D := fun k => if existsb (Nat.eqb k) chunks' then if pairs_of (of k) =? 0 then [] else needers_of (of k) else []).
  assert (Hc : forall k, existsb (Nat.eqb k) chunks' = true <-> In k chunks').
  { intros k. rewrite existsb_exists. split; [intros [y [Hy E]]; apply Nat.eqb_eq in E; congruence|].
    intros Hk. exists k. split; auto. apply Nat.eqb_refl. }
  assert (SD : forall k w, In w (S k) -> In k chunks' /\ pairs_of (of k) <> 0 /\ In w (sources_of (of k)) /\ S k = sources_of (of k) /\ D k = needers_of (of k)).
  { intros k w. unfold S, D. destruct (existsb (Nat.eqb k) chunks') eqn:E; [|simpl; tauto]. apply Hc in E.
    destruct (Z.eqb_spec (pairs_of (of k)) 0); simpl; tauto. }
  assert (Dk : forall k, D k = [] \/ In k chunks' /\ D k = needers_of (of k)).
  { intros k. unfold D. destruct (existsb (Nat.eqb k) chunks') eqn:E; [|auto]. apply Hc in E.
    destruct (pairs_of (of k) =? 0); auto. }
  assert (Sk : forall k, S k = [] \/ In k chunks' /\ S k = sources_of (of k)).
  { intros k. unfold S. destruct (existsb (Nat.eqb k) chunks') eqn:E; [|auto]. apply Hc in E.
    destruct (pairs_of (of k) =? 0); auto. }
  pose proof (covered j' Hp X within b (full_of tb) (head_of tb) (lead_of tb) (onto_of tb) (onto_head_of tb)
    (beyond_of tb) Hb0) as C.
  assert (C1 := C (fun u Hu => Hlead u (proj2 (in_seq _ _ _) (conj (Nat.le_0_l u) Hu)))). clear C.
  assert (L2 : forall z, (z < nodes j')%nat -> X z = true -> potential (onto_of tb z) z <= 0 /\
     forall l, In l (links j') -> inner X l = true -> rises_well j' (fun _ => 0) (onto_of tb z) (onto_head_of tb z) b l = true).
  { intros z Hz Xz. specialize (Honto z (proj2 (in_seq _ _ _) (conj (Nat.le_0_l z) Hz))).
    rewrite Xz in Honto. simpl in Honto. apply andb_true_iff in Honto. destruct Honto as [A B]. split; [apply Z.leb_le, A|].
    rewrite forallb_forall in B. intros l Hl Hi. specialize (B l Hl). rewrite Hi in B. exact B. }
  assert (C2 := C1 L2 (fun i Hi Hen => Hbeyond i (Hin i Hi Hen)) net occ sch Hr (summed_of tb) (parted_of tb)
    (fun l Hl => proj1 (proj1 (andb_true_iff _ _) (Hsw l Hl))) (fun l Hl => proj2 (proj1 (andb_true_iff _ _) (Hsw l Hl))) T HT S D weight'
    (fun i => envelope (heads_of tb srcs i)) (fun i => envelope (tails_of tb within dests i))). clear C1.
  assert (C3 : forall k, NoDup (S k) /\ NoDup (D k)).
  { intros k. split; [destruct (Sk k) as [->|[_ ->]]|destruct (Dk k) as [->|[_ ->]]];
      try constructor; apply NoDup_filter, NoDup_nodup. }
  specialize (C2 C3). clear C3.
  assert (C3 : forall k w, In w (S k) -> spreads_well j' b (full_of tb) (head_of tb) w /\
    forall u x, In ((u, k), x) (pre j') -> contains x w -> X u = false /\ potential (full_of tb w) u <= arrival j' u).
  { intros k w Hk. destruct (SD k w Hk) as [Ik [_ [Is _]]]. unfold sources_of in Is. apply filter_In in Is.
    destruct Is as [Iw Is]. apply nodup_In in Iw. specialize (Hfull w Iw). apply andb_true_iff in Hfull.
    rewrite !forallb_forall in Hfull. destruct Hfull as [F1 F2]. split; [exact F1|].
    intros u x Hx Hcx. specialize (starts u k x Ik Hx). apply andb_true_iff in Is. destruct Is as [_ Is].
    rewrite forallb_forall in Is. specialize (Is ((u, of k), x)). cbn [fst snd] in Is.
    assert (Hcb : containsb x w = true) by (apply Nat.ltb_lt, Hcx). rewrite Hcb in Is. simpl in Is.
    split.
    - apply negb_true_iff, Is. unfold said_of. apply filter_In. split; auto. apply Nat.eqb_refl.
    - specialize (F2 ((u, of k), x) starts). cbn [fst snd] in F2. rewrite Hcb in F2. apply Z.leb_le, F2. }
  specialize (C2 C3). clear C3.
  assert (C3 : forall k v w, In w (S k) -> In v (D k) -> b <= size j' k /\ X v = true /\
    exists x, In ((v, k), x) (post j') /\ contains x w).
  { intros k v w Hk Hv. destruct (SD k w Hk) as [Ik [Np [Is [ES ED]]]]. split; [apply Hb; auto|].
    rewrite ED in Hv. unfold needers_of in Hv. apply filter_In in Hv. destruct Hv as [_ Hv].
    apply andb_true_iff in Hv. destruct Hv as [Xv Hv]. split; auto. apply existsb_exists in Hv.
    destruct Hv as [[[v' k'] x] [Hx Hv]]. unfold said_of in Hx. apply filter_In in Hx. cbn [fst snd] in *.
    destruct Hx as [Hx E]. apply Nat.eqb_eq in E. subst k'. apply andb_true_iff in Hv. destruct Hv as [E Hv].
    apply Nat.eqb_eq in E. subst v'. exists x. split; [apply needs; auto|]. rewrite forallb_forall in Hv.
    specialize (Hv w Is). apply Nat.ltb_lt, Hv. }
  specialize (C2 C3). clear C3.
  assert (C3 : forall i k t (from : nat -> nat), (i < length (links j'))%nat -> enters X (Schedule.at_link j' i) = true ->
    (forall w, begins_at j' i (from w)) -> (alone_before j' (summed_of tb) i = true -> forall w w', from w = from w') ->
    over (map (fun w => early j' (full_of tb) (lead_of tb) i (from w) w) (S k)) t <= over (envelope (heads_of tb srcs i)) t).
  { intros i k t from Hi Hen Hf Ha. destruct (Sk k) as [->|[Ik ->]]; [apply over_0|].
    specialize (He i (Hin i Hi Hen)). apply andb_true_iff in He. destruct He as [He _]. rewrite forallb_forall in He.
    destruct (heads_in tb srcs i (sources_of (of k)) from Hf Ha (in_classes _ _ Ik)) as [l [Hl Hle]].
    eapply Z.le_trans; [apply Hle|]. apply (covers_spec _ _ (He l Hl)). }
  specialize (C2 C3). clear C3.
  assert (C3 : forall i k t (to : nat -> nat), (i < length (links j'))%nat -> enters X (Schedule.at_link j' i) = true ->
    (forall v, ends_at j' X i (to v)) -> (alone_behind j' (parted_of tb) i = true -> forall v v', to v = to v') ->
    over (map (fun v => late j' within (onto_of tb) (beyond_of tb) i (to v) v) (D k)) t <= over (envelope (tails_of tb within dests i)) t).
  { intros i k t to Hi Hen Hf Ha. destruct (Dk k) as [->|[Ik ->]]; [apply over_0|].
    specialize (He i (Hin i Hi Hen)). apply andb_true_iff in He. destruct He as [_ He]. rewrite forallb_forall in He.
    destruct (tails_in tb within dests i (needers_of (of k)) to Hf Ha (in_classes _ _ Ik)) as [l [Hl Hle]].
    eapply Z.le_trans; [apply Hle|]. apply (covers_spec _ _ (He l Hl)). }
  specialize (C2 C3 Hw). clear C3.
  enough (sum (fun k => weight' k * pairs_of (of k)) chunks' <= carried_by tb within srcs dests T) by lia.
  eapply Z.le_trans; [|exact C2].
  apply sum_le. intros k Hk. destruct (Z.eq_dec (pairs_of (of k)) 0) as [E|E].
  - rewrite E. rewrite Z.mul_0_r. apply Z.mul_nonneg_nonneg; [apply Hw|lia].
  - unfold S, D. rewrite (proj2 (Hc k) Hk). rewrite (proj2 (Z.eqb_neq _ _) E). unfold pairs_of. lia.
Qed.
End Another.

Theorem loose_coverage_sound bound occ sch : positive j -> coverage_rule bound = true -> loose j net occ sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. enough (bound - 1 < makespan sch) by lia.
  assert (E : j = Job (nodes j) (links j) (ports j) (model j) (release j) (sizes j) (idempotent j) (pre j) (post j))
    by (destruct j; reflexivity).
  assert (Q : forall within : bool, forall k, 0 <= weight_of within k /\ forall i, (i < length (links j))%nat -> enters X (at_link i) = true ->
     weight_of within k <= bandwidth (at_link i) * (beta (at_link i) (size j k) + if within then beside j i else 0)).
  { intros within k. unfold weight_of. split; [destruct into; lia|]. intros i Hi Hen.
    pose proof (in_some_links j (enters X) i Hi Hen) as Hin. fold into in Hin. destruct into as [|i0 l] eqn:Ei; [destruct Hin|]. rewrite <- Ei.
    apply Z.max_lub.
    - pose proof (sane_link j Hp i) as [La Lb]. pose proof (beta_0 (at_link i) (size j k) Lb (sane_size j Hp k)).
      assert (0 <= beside j i) by (unfold beside; destruct (model j); lia). destruct within; nia.
    - apply least_le. apply (in_map (fun i => bandwidth (at_link i) * (beta (at_link i) (size j k) + if within then beside j i else 0))).
      apply in_some_links; auto. }
  assert (B : forall k, In k chunks_of -> pairs_of k <> 0 -> least_paired <= size j k).
  { intros k Hk Hn. apply least_le. apply in_map, filter_In. split; auto. unfold paired. unfold pairs_of in Hn.
    destruct (sources_of k); [simpl in Hn; lia|]. destruct (needers_of k); [simpl in Hn; lia|reflexivity]. }
  apply orb_true_iff in H. rewrite E in Hp, Hr. destruct H as [H|H].
  - apply (uncovered_sound (sizes j) (pre j) (post j) (fun k => k)) with (within := false) (b := least_paired)
      (weight := weight_of false) (weight' := weight_of false) (occ := occ); auto; [apply (Q false)|apply Z.le_refl].
  - apply (uncovered_sound (sizes j) (pre j) (post j) (fun k => k)) with (within := true) (b := least_paired)
      (weight := weight_of true) (weight' := weight_of true) (occ := occ); auto; [apply (Q true)|apply Z.le_refl].
Qed.

Corollary coverage_sound bound sch : positive j -> coverage_rule bound = true -> right j sch -> bound <= makespan sch.
Proof. intros Hp H Hr. apply (loose_coverage_sound bound (uses_of j) sch Hp H). apply right_loose; auto. Qed.

(** ** How many chunks must enter *)

Definition first_in (ls : list (list Z)) : Z := least (concat ls).
Definition overcrowded (within : bool) (b T : Z) : bool :=
  let tb := find_tables b in
  let ks := filter paired chunks_of in
  let srcs := distinct_of (map sources_of ks) in
  let dests := distinct_of (map needers_of ks) in
  tables_ok tb b && forallb (fun i => 0 <? span_of j within b i) into &&
  (sum (fun i => Z.max 0 (T - first_in (tails_of tb within dests i) - first_in (heads_of tb srcs i)) / span_of j within b i) into <?
   Z.of_nat (length ks)).
Definition entry_rule (bound : Z) : bool := overcrowded true least_paired (bound - 1).

Lemma first_in_le ls l t : In l ls -> In t l -> first_in ls <= t.
Proof. intros Hl Ht. apply least_le. apply in_concat. eauto. Qed.

Lemma first_head tb srcs i s u w : begins_at j i u -> In s srcs -> In w s -> first_in (heads_of tb srcs i) <= early j (full_of tb) (lead_of tb) i u w.
Proof.
  intros Hu Hs Hw. pose proof (starts_in i u Hu) as Hi. unfold heads_of. destruct (alone_before j (summed_of tb) i).
  - apply (first_in_le _ (map (early j (full_of tb) (lead_of tb) i u) s)); [|apply in_map, Hw].
    apply in_flat_map. exists u. split; auto. apply in_map, Hs.
  - eapply Z.le_trans; [eapply first_in_le; [apply in_map, Hs|apply in_map, Hw]|]. apply least_le.
    apply (in_map (fun u => early j (full_of tb) (lead_of tb) i u w)), Hi.
Qed.
Lemma first_tail tb within dests i s z v : ends_at j X i z -> In s dests -> In v s ->
  first_in (tails_of tb within dests i) <= late j within (onto_of tb) (beyond_of tb) i z v.
Proof.
  intros Hz Hs Hv. pose proof (stops_in i z Hz) as Hi. unfold tails_of. destruct (alone_behind j (parted_of tb) i).
  - apply (first_in_le _ (map (late j within (onto_of tb) (beyond_of tb) i z) s)); [|apply in_map, Hv].
    apply in_flat_map. exists z. split; auto. apply in_map, Hs.
  - eapply Z.le_trans; [eapply first_in_le; [apply in_map, Hs|apply in_map, Hv]|]. apply least_le.
    apply (in_map (fun z => late j within (onto_of tb) (beyond_of tb) i z v)), Hi.
Qed.

Theorem loose_entry_sound bound occ sch : positive j -> entry_rule bound = true -> loose j net occ sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. enough (bound - 1 < makespan sch) by lia. set (T := bound - 1) in *. apply Z.lt_nge. intros HT.
  unfold entry_rule, overcrowded in H. fold T in H. set (b := least_paired) in *.
  set (tb := find_tables b) in *. set (ks := filter paired chunks_of) in *.
  set (srcs := distinct_of (map sources_of ks)) in *. set (dests := distinct_of (map needers_of ks)) in *.
  rewrite !andb_true_iff in H. destruct H as [[Ht Hsp] Hlt]. apply Z.ltb_lt in Hlt. rewrite forallb_forall in Hsp.
  unfold tables_ok in Ht. rewrite !andb_true_iff, !forallb_forall in Ht.
  destruct Ht as [[[[[Hb0 Hfull] Hlead] Honto] Hbeyond] Hsw]. apply Z.leb_le in Hb0.
  assert (Hin : forall i, (i < length (links j))%nat -> enters X (at_link i) = true -> In i into)
    by (intros; apply in_some_links; auto).
  set (S := fun k => if existsb (Nat.eqb k) ks then sources_of k else []).
  set (D := fun k => if existsb (Nat.eqb k) ks then needers_of k else []).
  assert (Hc : forall k, existsb (Nat.eqb k) ks = true <-> In k ks).
  { intros k. rewrite existsb_exists. split; [intros [y [Hy E]]; apply Nat.eqb_eq in E; congruence|].
    intros Hk. exists k. split; auto. apply Nat.eqb_refl. }
  assert (SD : forall k w, In w (S k) -> In k ks /\ In w (sources_of k)).
  { intros k w. unfold S. destruct (existsb (Nat.eqb k) ks) eqn:E; [|simpl; tauto]. apply Hc in E. auto. }
  assert (DD : forall k w, In w (D k) -> In k ks /\ In w (needers_of k)).
  { intros k w. unfold D. destruct (existsb (Nat.eqb k) ks) eqn:E; [|simpl; tauto]. apply Hc in E. auto. }
  enough (Z.of_nat (length ks) <= sum (fun i => Z.max 0 (T - first_in (tails_of tb true dests i) - first_in (heads_of tb srcs i)) / span_of j true b i) into) by lia.
  unshelve eapply (counted j Hp X true b (full_of tb) (head_of tb) (lead_of tb) (onto_of tb) (onto_head_of tb) (beyond_of tb)) with
    (net := net) (occ := occ) (sch := sch) (S := S) (D := D) (ks := ks); auto.
  - intros u Hu. apply Hlead, in_seq. lia.
  - intros z Hz Xz. specialize (Honto z (proj2 (in_seq _ _ _) (conj (Nat.le_0_l z) Hz))).
    rewrite Xz in Honto. simpl in Honto. apply andb_true_iff in Honto. destruct Honto as [A B]. split; [apply Z.leb_le, A|].
    rewrite forallb_forall in B. intros l Hl Hi. specialize (B l Hl). rewrite Hi in B. exact B.
  - intros k w Hk. destruct (SD k w Hk) as [_ Is]. unfold sources_of in Is. apply filter_In in Is.
    destruct Is as [Iw Is]. apply nodup_In in Iw. specialize (Hfull w Iw). apply andb_true_iff in Hfull.
    rewrite !forallb_forall in Hfull. destruct Hfull as [F1 F2]. split; [exact F1|].
    intros u x Hx Hcx. apply andb_true_iff in Is. destruct Is as [_ Is].
    rewrite forallb_forall in Is. specialize (Is ((u, k), x)). cbn [fst snd] in Is.
    assert (Hcb : containsb x w = true) by (apply Nat.ltb_lt, Hcx). rewrite Hcb in Is. simpl in Is. split.
    + apply negb_true_iff, Is. unfold said_of. apply filter_In. split; auto. apply Nat.eqb_refl.
    + specialize (F2 ((u, k), x) Hx). cbn [fst snd] in F2. rewrite Hcb in F2. apply Z.leb_le, F2.
  - intros k v w Hk Hv. destruct (SD k w Hk) as [Ik Is]. destruct (DD k v Hv) as [_ Hd]. split.
    + apply least_le, in_map, Ik.
    + unfold needers_of in Hd. apply filter_In in Hd. destruct Hd as [_ Hd].
      apply andb_true_iff in Hd. destruct Hd as [Xv Hd]. split; auto. apply existsb_exists in Hd.
      destruct Hd as [[[v' k'] x] [Hx Hd]]. unfold said_of in Hx. apply filter_In in Hx. cbn [fst snd] in *.
      destruct Hx as [Hx E]. apply Nat.eqb_eq in E. subst k'. apply andb_true_iff in Hd. destruct Hd as [E Hd].
      apply Nat.eqb_eq in E. subst v'. exists x. split; auto. rewrite forallb_forall in Hd. apply Nat.ltb_lt, Hd, Is.
  - intros i u k w Hi Hen Hu Hw. destruct (SD k w Hw) as [Ik Is]. apply (first_head tb srcs i (sources_of k)); auto. apply nodup_In, in_map, Ik.
  - intros i z k v Hi Hen Hz Hv. destruct (DD k v Hv) as [Ik Is]. apply (first_tail tb true dests i (needers_of k)); auto. apply nodup_In, in_map, Ik.
  - intros i Hi Hen. apply Z.ltb_lt, Hsp, Hin; auto.
  - apply NoDup_filter, seq_NoDup.
  - intros k Hk. unfold S, D. rewrite (proj2 (Hc k) Hk). apply filter_In in Hk. destruct Hk as [_ Hk]. unfold paired in Hk.
    destruct (sources_of k); [discriminate|]. destruct (needers_of k); [discriminate|]. split; discriminate.
Qed.
Corollary entry_sound bound sch : positive j -> entry_rule bound = true -> right j sch -> bound <= makespan sch.
Proof. intros Hp H Hr. apply (loose_entry_sound bound (uses_of j) sch Hp H). apply right_loose; auto. Qed.
End Rule.
End Job.
