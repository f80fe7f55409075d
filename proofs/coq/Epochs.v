(** What can be moved by when, in epochs, and the formula that SPEC 10.3 to 10.5 make of it. If moves
    bring every chunk from its holder to all who want it within the horizon, over arcs, in the
    capacities, and in as few steps as are asked for, then they satisfy the formula, if chunks that
    are alike are numbered as they come. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Clauses.
Import ListNotations.
Open Scope Z_scope.

(** An arc leads from rank to rank over bundles of links. *)
Record arc := Arc { tail_of : nat; head_of : nat; over : list nat }.
(** At most this number of moves at one time occupy what the limit is for; a move of a chunk over an arc
    does from and to these epochs after its start. *)
Record limit := Limit { capacity : nat; spans : nat -> arc -> list (Z * Z) }.

Record system := System {
  chunks : nat;
  holder : nat -> nat;
  wanted : nat -> list nat;
  same : nat -> bool;                (* chunk k is like the one before *)
  arcs : list arc;
  delay : nat -> arc -> Z;           (* epochs *)
  ready : nat -> Z;
  horizon : Z;
  steps : nat;                       (* 0: any number *)
  limits : list (list limit);        (* those of a list together at each epoch *)
  early : nat -> nat -> Z;           (* no chunk comes to a rank before *)
  ranks : nat }.

Section System.
Variable s : system.
Variable step_of : Z -> Z.           (* the step that an epoch is in; for steps alone *)
Notation H := (horizon s).

Definition the_arc (a : nat) : arc := nth a (arcs s) (Arc 0 0 []).

Record move := Move { chunk_of : nat; arc_of : nat; start : Z }.
Definition over_arc (m : move) : arc := the_arc (arc_of m).
Definition arrives (m : move) : Z := start m + delay s (chunk_of m) (over_arc m).
Definition occupies (l : limit) (t : Z) (m : move) : bool :=
  existsb (fun p => (fst p <=? t - start m) && (t - start m <? snd p)) (spans l (chunk_of m) (over_arc m)).

(** Moves that bring all chunks to where they are wanted. *)
Record plan (ms : list move) : Prop := {
  numbers_ok : forall m, In m ms -> (chunk_of m < chunks s)%nat /\ (arc_of m < length (arcs s))%nat;
  waits : forall m, In m ms -> 0 <= start m /\ ready s (tail_of (over_arc m)) <= start m /\ ready s (head_of (over_arc m)) <= start m;
  in_time : forall m, In m ms -> arrives m <= H;
  has_it : forall m, In m ms -> tail_of (over_arc m) = holder s (chunk_of m) \/
    exists m', In m' ms /\ chunk_of m' = chunk_of m /\ head_of (over_arc m') = tail_of (over_arc m) /\ arrives m' <= start m /\
      (steps s <> O -> step_of (start m') < step_of (start m));
  in_steps : steps s <> O -> (forall x y, 0 <= x <= y -> step_of x <= step_of y) /\ (forall x, 0 <= x -> 0 <= step_of x < Z.of_nat (steps s));
  delivers : forall k v, (k < chunks s)%nat -> In v (wanted s k) -> v <> holder s k ->
    exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = v;
  fits : forall g l t, In g (limits s) -> In l g -> 0 <= t < H -> (how_many (occupies l t) ms <= capacity l)%nat }.

(** ** The formula *)

Definition has (k v : nat) (t : Z) : var := (((0, k), (v, 0))%nat, t).
Definition send (k a : nat) (t : Z) : var := (((1, k), (a, 0))%nat, t).
Definition cut (t : Z) : var := (((2, 0), (0, 0))%nat, t).
Definition avail (k v : nat) (t : Z) : var := (((3, k), (v, 0))%nat, t).
Definition stepwise {A} (l : list A) : list A := match steps s with O => [] | _ => l end.
Definition earliest (k : nat) (a : arc) : Z := Z.max (early s k (tail_of a)) (Z.max (ready s (tail_of a)) (ready s (head_of a))).
Definition sends (k a : nat) : list Z :=
  if (head_of (the_arc a) =? holder s k)%nat then [] else range (earliest k (the_arc a)) (H - delay s k (the_arc a)).
Definition havers (k : nat) : list nat := filter (fun v => negb (v =? holder s k)%nat) (seq 0 (ranks s)).
Definition each_chunk {A} (f : nat -> list A) : list A := flat_map f (seq 0 (chunks s)).
Definition each_arc {A} (f : nat -> list A) : list A := flat_map f (seq 0 (length (arcs s))).

Definition variables : list var :=
  each_chunk (fun k => flat_map (fun v => map (has k v) (range (early s k v) H)) (havers k)) ++
  each_chunk (fun k => each_arc (fun a => map (send k a) (sends k a))) ++
  stepwise (map cut (range 1 (H - 1)) ++
    each_chunk (fun k => flat_map (fun v => map (avail k v) (range (early s k v) (H - 1))) (havers k))).

Definition held (k v : nat) (t : Z) : literal := if (v =? holder s k)%nat then Always else Yes (has k v t).
(** When the step begins. *)
Definition at_hand (k v : nat) (t : Z) : literal :=
  match steps s with O => held k v t | _ => if (v =? holder s k)%nat then Always else Yes (avail k v t) end.
Definition first_wanted (k : nat) : option nat :=
  match filter (fun v => negb (v =? holder s k)%nat) (wanted s k) with v :: _ => Some v | [] => None end.
Definition into_rank (v : nat) : list nat := filter (fun a => (head_of (the_arc a) =? v)%nat) (seq 0 (length (arcs s))).

Definition arrivals : list constraint :=
  each_chunk (fun k => flat_map (fun v => map (fun t =>
    One_of (Not (has k v t) :: held k v (t - 1) ::
      map (fun a => Yes (send k a (t - delay s k (the_arc a)))) (into_rank v))) (range (early s k v) H)) (havers k)).
Definition sources : list constraint :=
  each_chunk (fun k => each_arc (fun a => map (fun t =>
    One_of [Not (send k a t); at_hand k (tail_of (the_arc a)) t]) (sends k a))).
Definition demands : list constraint :=
  each_chunk (fun k => map (fun v => One_of [held k v H]) (filter (fun v => negb (v =? holder s k)%nat) (wanted s k))).
Definition in_order : list constraint :=
  each_chunk (fun k => match k, first_wanted k with
    | S k', Some v => if same s k then map (fun t => One_of [Not (has k v t); held k' v t]) (range (early s k v) (H - 1)) else []
    | _, _ => []
    end).
(** The sends that occupy what a limit is for at epoch [t], by chunk, arc and start. *)
Definition occupants (l : limit) (t : Z) : list var :=
  each_chunk (fun k => each_arc (fun a =>
    match spans l k (the_arc a) with
    | [] => []
    | ps => let longest := fold_right (fun p m => Z.max (snd p) m) 0 ps in
            let f := earliest k (the_arc a) in
            map (send k a) (filter (fun u => occupies l t (Move k a u))
              (filter (fun u => negb (head_of (the_arc a) =? holder s k)%nat && (f <=? u))
                (range (Z.max f (t - longest + 1)) (Z.min t (H - delay s k (the_arc a))))))
    end)).
Definition capacities : list constraint :=
  flat_map (fun g => flat_map (fun t => map (fun l => Most (capacity l) (occupants l t)) g) (range 0 (H - 1))) (limits s).
Definition few_steps : list constraint :=
  stepwise (each_chunk (fun k => flat_map (fun v => flat_map (fun t =>
    [One_of [Not (avail k v t); held k v t]; One_of [Not (avail k v t); Yes (cut t); at_hand k v (t - 1)]])
      (range (early s k v) (H - 1))) (havers k)) ++
    [Most (steps s - 1) (map cut (range 1 (H - 1)))]).
Definition formula : list constraint := arrivals ++ sources ++ demands ++ in_order ++ capacities ++ few_steps.

(** What is taken for granted of the system, and can be computed. *)
Definition proper : Prop :=
  (forall k a, (k < chunks s)%nat -> (a < length (arcs s))%nat -> 1 <= delay s k (the_arc a)) /\
  (forall k a, (k < chunks s)%nat -> (a < length (arcs s))%nat -> early s k (head_of (the_arc a)) <= earliest k (the_arc a) + delay s k (the_arc a)) /\
  (forall k, (k < chunks s)%nat -> early s k (holder s k) <= 0) /\
  (forall a, (a < length (arcs s))%nat -> (head_of (the_arc a) < ranks s)%nat) /\
  (forall g l k a, In g (limits s) -> In l g -> (S k < chunks s)%nat -> same s (S k) = true -> (a < length (arcs s))%nat ->
     spans l (S k) (the_arc a) = spans l k (the_arc a)) /\
  (forall k a, (S k < chunks s)%nat -> same s (S k) = true -> (a < length (arcs s))%nat -> delay s (S k) (the_arc a) = delay s k (the_arc a)) /\
  (forall k, (S k < chunks s)%nat -> same s (S k) = true -> holder s (S k) = holder s k /\ wanted s (S k) = wanted s k) /\
  (steps s <> O -> forall k a, (k < chunks s)%nat -> (a < length (arcs s))%nat -> delay s k (the_arc a) = 1).
Hypothesis good : proper.

(** ** No move is too early *)

Lemma delay_1 ms m : plan ms -> In m ms -> 1 <= delay s (chunk_of m) (over_arc m).
Proof. intros P Hm. destruct (numbers_ok _ P m Hm). apply good; auto. Qed.
Lemma not_early ms : plan ms -> forall n m, In m ms -> start m < Z.of_nat n -> early s (chunk_of m) (tail_of (over_arc m)) <= start m.
Proof.
  intros P. induction n as [|n IH]; intros m Hm Hn; [destruct (waits _ P m Hm); lia|].
  destruct (numbers_ok _ P m Hm) as [Hk Ha]. destruct (waits _ P m Hm) as [W0 _].
  destruct (has_it _ P m Hm) as [E|[m' [Hm' [Ek [Eh [Le _]]]]]].
  - rewrite E. destruct good as [_ [_ [Z0 _]]]. specialize (Z0 _ Hk). lia.
  - pose proof (delay_1 ms m' P Hm') as D. unfold arrives in Le. specialize (IH m' Hm' ltac:(lia)).
    destruct (numbers_ok _ P m' Hm') as [Hk' Ha']. destruct (waits _ P m' Hm') as [_ [W1 W2]].
    destruct good as [_ [T _]]. specialize (T _ _ Hk' Ha'). rewrite <- Ek, <- Eh. unfold earliest in T. fold (over_arc m') in T. lia.
Qed.
Lemma at_earliest ms m : plan ms -> In m ms -> earliest (chunk_of m) (over_arc m) <= start m.
Proof.
  intros P Hm. pose proof (waits _ P m Hm). pose proof (not_early ms P (Z.to_nat (start m + 1)) m Hm ltac:(lia)). unfold earliest. lia.
Qed.
Lemma arrives_early ms m : plan ms -> In m ms -> early s (chunk_of m) (head_of (over_arc m)) <= arrives m.
Proof.
  intros P Hm. destruct (numbers_ok _ P m Hm) as [Hk Ha]. destruct good as [_ [T _]]. specialize (T _ _ Hk Ha).
  pose proof (at_earliest ms m P Hm). unfold arrives. fold (over_arc m) in T. lia.
Qed.

(** ** Chunks that are alike come in order *)

(** The epoch by which chunk [k] has come to [v]; one after the horizon if it does not. *)
Definition comes (ms : list move) (k v : nat) : Z :=
  fold_right (fun m x => if (chunk_of m =? k)%nat && (head_of (over_arc m) =? v)%nat then Z.min (arrives m) x else x) (H + 1) ms.
Lemma comes_le ms k v t : comes ms k v <= t <-> H + 1 <= t \/ exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = v /\ arrives m <= t.
Proof.
  unfold comes. induction ms as [|m ms IH]; simpl; [split; [auto|intros [?|[? [[] _]]]; auto]|].
  destruct ((chunk_of m =? k)%nat && (head_of (over_arc m) =? v)%nat) eqn:E.
  - apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. rewrite Z.min_le_iff, IH. split.
    + intros [L|[L|[m' [A B]]]]; [right; exists m; tauto|auto|right; exists m'; tauto].
    + intros [L|[m' [[<-|A] B]]]; [auto|tauto|right; right; exists m'; auto].
  - rewrite IH. split; intros [L|[m' [A B]]]; auto; right; exists m'; [tauto|].
    destruct A as [<-|A]; [|auto]. destruct B as [<- [<- _]]. rewrite !Nat.eqb_refl in E. discriminate.
Qed.
Definition come_first (ms : list move) (k : nat) : Z := match first_wanted k with Some v => comes ms k v | None => H + 1 end.
Definition sorted (ms : list move) : Prop :=
  forall k, (S k < chunks s)%nat -> same s (S k) = true -> come_first ms k <= come_first ms (S k).

Definition swap (k : nat) (i : nat) : nat := if (i =? k)%nat then S k else if (i =? S k)%nat then k else i.
Lemma swap_swap k i : swap k (swap k i) = i.
Proof. unfold swap. destruct (Nat.eqb_spec i k); [|destruct (Nat.eqb_spec i (S k))]; subst; repeat (match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b) end); lia. Qed.
Definition swapped (k : nat) (ms : list move) : list move := map (fun m => Move (swap k (chunk_of m)) (arc_of m) (start m)) ms.

Section Swap.
Variable k : nat.
Hypothesis Hk : (S k < chunks s)%nat.
Hypothesis alike : same s (S k) = true.
Lemma swap_lt i : (i < chunks s)%nat -> (swap k i < chunks s)%nat.
Proof. unfold swap. destruct (Nat.eqb_spec i k); [lia|]. destruct (Nat.eqb_spec i (S k)); lia. Qed.
Lemma swap_like {A} (f : nat -> A) i : f (S k) = f k -> f (swap k i) = f i.
Proof. unfold swap. intros E. destruct (Nat.eqb_spec i k); [subst; auto|]. destruct (Nat.eqb_spec i (S k)); subst; auto. Qed.
Lemma swap_holder i : holder s (swap k i) = holder s i.
Proof. apply swap_like. apply good; auto. Qed.
Lemma swap_wanted i : wanted s (swap k i) = wanted s i.
Proof. apply swap_like. apply good; auto. Qed.
Lemma swap_delay i a : (a < length (arcs s))%nat -> delay s (swap k i) (the_arc a) = delay s i (the_arc a).
Proof. intros Ha. apply (swap_like (fun i => delay s i (the_arc a))). destruct good as [_ [_ [_ [_ [_ [D _]]]]]]. auto. Qed.
Lemma in_swapped m ms : In m (swapped k ms) <-> exists m', In m' ms /\ m = Move (swap k (chunk_of m')) (arc_of m') (start m').
Proof. unfold swapped. rewrite in_map_iff. split; intros [m' [A B]]; exists m'; auto. Qed.
Lemma swap_arrives i a t : (a < length (arcs s))%nat -> arrives (Move (swap k i) a t) = arrives (Move i a t).
Proof. intros Ha. unfold arrives, over_arc. cbn [chunk_of arc_of start]. rewrite swap_delay by auto. reflexivity. Qed.
Lemma move_eta m : Move (chunk_of m) (arc_of m) (start m) = m.
Proof. destruct m. reflexivity. Qed.

Lemma plan_swapped ms : plan ms -> plan (swapped k ms).
Proof.
  intros P. constructor.
  - intros m Hm. apply in_swapped in Hm. destruct Hm as [m' [Hm ->]]. destruct (numbers_ok _ P m' Hm). cbn [chunk_of arc_of]. auto using swap_lt.
  - intros m Hm. apply in_swapped in Hm. destruct Hm as [m' [Hm ->]]. apply (waits _ P m' Hm).
  - intros m Hm. apply in_swapped in Hm. destruct Hm as [m' [Hm ->]]. destruct (numbers_ok _ P m' Hm). rewrite swap_arrives, move_eta by auto. apply (in_time _ P m' Hm).
  - intros m Hm. apply in_swapped in Hm. destruct Hm as [m' [Hm ->]]. unfold over_arc. cbn [chunk_of arc_of start]. rewrite swap_holder.
    destruct (has_it _ P m' Hm) as [E|[m1 [H1 [E1 [E2 [L F]]]]]]; auto. right.
    exists (Move (swap k (chunk_of m1)) (arc_of m1) (start m1)). cbn [chunk_of arc_of]. split; [apply in_swapped; eauto|]. split; [congruence|]. split; [exact E2|].
    destruct (numbers_ok _ P m1 H1). rewrite swap_arrives, move_eta by auto. auto.
  - apply (in_steps _ P).
  - intros i v Hi Hv Hn. rewrite <- (swap_wanted i), <- (swap_holder i) in *. destruct (delivers _ P (swap k i) v (swap_lt i Hi) Hv Hn) as [m [Hm [E1 E2]]].
    exists (Move (swap k (chunk_of m)) (arc_of m) (start m)). split; [apply in_swapped; eauto|]. cbn [chunk_of]. split; [|exact E2]. rewrite E1. apply swap_swap.
  - intros g l t Hg Hl Ht. eapply Nat.le_trans; [|apply (fits _ P g l t Hg Hl Ht)]. unfold swapped, how_many.
    assert (I : forall m, In m ms -> (arc_of m < length (arcs s))%nat) by (intros m Hm; apply (numbers_ok _ P m Hm)).
    clear P. induction ms as [|m ms IH]; simpl; auto. specialize (IH (fun x Hx => I x (or_intror Hx))).
    replace (occupies l t (Move (swap k (chunk_of m)) (arc_of m) (start m))) with (occupies l t m).
    + destruct (occupies l t m); simpl; lia.
    + unfold occupies, over_arc. cbn [chunk_of arc_of start]. f_equal. symmetry.
      apply (swap_like (fun i => spans l i (the_arc (arc_of m)))). destruct good as [_ [_ [_ [_ [D _]]]]]. apply (D g); auto. apply I. left. auto.
Qed.
Lemma comes_swapped ms i v : plan ms -> comes (swapped k ms) i v = comes ms (swap k i) v.
Proof.
  intros P. enough (E : forall t, comes (swapped k ms) i v <= t <-> comes ms (swap k i) v <= t).
  { pose proof (proj1 (E (comes (swapped k ms) i v)) ltac:(lia)). pose proof (proj2 (E (comes ms (swap k i) v)) ltac:(lia)). lia. }
  intros t. rewrite !comes_le. split; intros [L|[m [A [B [C D]]]]]; auto; right.
  - apply in_swapped in A. destruct A as [m' [Hm ->]]. exists m'. cbn [chunk_of] in B. destruct (numbers_ok _ P m' Hm).
    rewrite swap_arrives, move_eta in D by auto. split; auto. split; [|auto]. rewrite <- B. symmetry. apply swap_swap.
  - exists (Move (swap k (chunk_of m)) (arc_of m) (start m)). cbn [chunk_of]. destruct (numbers_ok _ P m A). rewrite swap_arrives, move_eta by auto.
    split; [apply in_swapped; eauto|]. split; [rewrite B; apply swap_swap|auto].
Qed.
Lemma first_wanted_swap i : first_wanted (swap k i) = first_wanted i.
Proof. unfold first_wanted. rewrite swap_holder, swap_wanted. reflexivity. Qed.
Lemma come_first_swapped ms i : plan ms -> come_first (swapped k ms) i = come_first ms (swap k i).
Proof. intros P. unfold come_first. rewrite first_wanted_swap. destruct (first_wanted i); auto. apply comes_swapped, P. Qed.
End Swap.

(** A measure that grows with each exchange, and has a limit. *)
Definition measure (ms : list move) : Z := fold_right (fun k m => Z.of_nat k * come_first ms k + m) 0 (seq 0 (chunks s)).
Lemma come_first_bound ms k : come_first ms k <= H + 1.
Proof. unfold come_first. destruct (first_wanted k); [|lia]. apply comes_le. left. lia. Qed.
Lemma measure_bound ms : measure ms <= fold_right (fun k m => Z.of_nat k * (H + 1) + m) 0 (seq 0 (chunks s)).
Proof. unfold measure. induction (seq 0 (chunks s)) as [|k l IH]; simpl; [lia|]. pose proof (come_first_bound ms k). nia. Qed.
Lemma measure_grows ms k : (S k < chunks s)%nat -> same s (S k) = true -> plan ms -> come_first ms (S k) < come_first ms k ->
  measure ms < measure (swapped k ms).
Proof.
  intros Hk Ha P L. unfold measure.
  assert (E : seq 0 (chunks s) = seq 0 k ++ [k; S k] ++ seq (S (S k)) (chunks s - S (S k))).
  { replace (chunks s) with (k + (2 + (chunks s - S (S k))))%nat at 1 by lia. rewrite seq_app, seq_app. simpl. repeat f_equal; lia. }
  rewrite E, !fold_right_app. cbn [fold_right app].
  assert (Out : forall i, i <> k -> i <> S k -> come_first (swapped k ms) i = come_first ms i).
  { intros i A B. rewrite (come_first_swapped k Hk Ha) by auto. unfold swap. rewrite (proj2 (Nat.eqb_neq i k)), (proj2 (Nat.eqb_neq i (S k))) by auto. reflexivity. }
  assert (Same : forall l z, (forall i, In i l -> i <> k /\ i <> S k) ->
    fold_right (fun i m => Z.of_nat i * come_first (swapped k ms) i + m) z l = fold_right (fun i m => Z.of_nat i * come_first ms i + m) z l).
  { induction l as [|i l IH]; simpl; intros z Hl; auto. destruct (Hl i (or_introl eq_refl)). rewrite Out, IH by auto. reflexivity. }
  rewrite !(Same (seq 0 k)) by (intros i Hi; apply in_seq in Hi; lia). rewrite (Same (seq (S (S k)) _)) by (intros i Hi; apply in_seq in Hi; lia).
  rewrite !(come_first_swapped k Hk Ha) by auto. replace (swap k k) with (S k) by (unfold swap; rewrite Nat.eqb_refl; auto).
  replace (swap k (S k)) with k by (unfold swap; rewrite Nat.eqb_refl; destruct (Nat.eqb_spec (S k) k); lia).
  set (z := fold_right _ 0 (seq (S (S k)) _)).
  assert (Add : forall l a b, a < b -> fold_right (fun i m => Z.of_nat i * come_first ms i + m) a l < fold_right (fun i m => Z.of_nat i * come_first ms i + m) b l).
  { induction l as [|i l IH]; simpl; intros a b Hab; auto. specialize (IH a b Hab). lia. }
  apply Add. nia.
Qed.
Definition unsorted (ms : list move) (i : nat) : bool :=
  (S i <? chunks s)%nat && same s (S i) && (come_first ms (S i) <? come_first ms i).
Theorem sortable ms : plan ms -> exists ms', plan ms' /\ sorted ms'.
Proof.
  set (top := fold_right (fun k m => Z.of_nat k * (H + 1) + m) 0 (seq 0 (chunks s))).
  intros P. remember (Z.to_nat (top - measure ms)) as n eqn:En. revert ms P En.
  induction n as [n IH] using lt_wf_ind. intros ms P En.
  destruct (find (unsorted ms) (seq 0 (chunks s))) as [k|] eqn:F.
  - apply find_some in F. destruct F as [_ F]. unfold unsorted in F. rewrite !andb_true_iff, Nat.ltb_lt, Z.ltb_lt in F. destruct F as [[A B] C].
    pose proof (measure_grows ms k A B P C) as G. pose proof (measure_bound (swapped k ms)) as M. fold top in M.
    apply (IH (Z.to_nat (top - measure (swapped k ms)))) with (swapped k ms); auto; [lia|]. apply plan_swapped; auto.
  - exists ms. split; auto. intros k Hk Hs. pose proof (find_none _ _ F k ltac:(apply in_seq; lia)) as N. unfold unsorted in N.
    rewrite Hs, (proj2 (Nat.ltb_lt _ _) Hk) in N. simpl in N. apply Z.ltb_ge in N. exact N.
Qed.

(** ** What the moves make true *)

Definition truth (ms : list move) (x : var) : bool :=
  let '(((c, k), (a, z)), t) := x in
  match c, z with
  | O, O => (k <? chunks s)%nat && negb (a =? holder s k)%nat && (t <=? H) && (comes ms k a <=? t)
  | S O, O => negb (head_of (the_arc a) =? holder s k)%nat &&
         existsb (fun m => (chunk_of m =? k)%nat && (arc_of m =? a)%nat && (start m =? t)) ms
  | S (S O), O => negb (steps s =? 0)%nat && (k =? 0)%nat && (a =? 0)%nat && (1 <=? t) && (t <=? H - 1) && (step_of (t - 1) <? step_of t)
  | S (S (S O)), O => negb (steps s =? 0)%nat && (k <? chunks s)%nat && negb (a =? holder s k)%nat && (t <=? H - 1) &&
         existsb (fun m => (chunk_of m =? k)%nat && (head_of (over_arc m) =? a)%nat && (arrives m <=? t) && (step_of (start m) <? step_of t)) ms
  | _, _ => false
  end.

Section Truth.
Variable ms : list move.
Hypothesis P : plan ms.
Hypothesis S : sorted ms.
Lemma truth_has k v t : truth ms (has k v t) = true <-> (k < chunks s)%nat /\ v <> holder s k /\ t <= H /\
  exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = v /\ arrives m <= t.
Proof.
  simpl. rewrite !andb_true_iff, negb_true_iff, Nat.ltb_lt, Nat.eqb_neq, !Z.leb_le, comes_le. split.
  - intros [[[A B] C] [D|D]]; [lia|auto].
  - intros [A [B [C D]]]. auto.
Qed.
Lemma truth_send k a t : truth ms (send k a t) = true <-> head_of (the_arc a) <> holder s k /\ In (Move k a t) ms.
Proof.
  simpl. rewrite andb_true_iff, negb_true_iff, Nat.eqb_neq, existsb_exists. split; intros [A B]; split; auto.
  - destruct B as [m [Hm E]]. rewrite !andb_true_iff, !Nat.eqb_eq, Z.eqb_eq in E. destruct m, E as [[<- <-] <-]. exact Hm.
  - exists (Move k a t). split; auto. simpl. rewrite !Nat.eqb_refl, Z.eqb_refl. reflexivity.
Qed.
Lemma truth_cut t : truth ms (cut t) = true <-> steps s <> O /\ 1 <= t <= H - 1 /\ step_of (t - 1) < step_of t.
Proof. simpl. rewrite !andb_true_iff, negb_true_iff, Nat.eqb_neq, !Z.leb_le, Z.ltb_lt. tauto. Qed.
Lemma truth_avail k v t : truth ms (avail k v t) = true <-> steps s <> O /\ (k < chunks s)%nat /\ v <> holder s k /\ t <= H - 1 /\
  exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = v /\ arrives m <= t /\ step_of (start m) < step_of t.
Proof.
  simpl. rewrite !andb_true_iff, !negb_true_iff, Nat.ltb_lt, !Nat.eqb_neq, !Z.leb_le, existsb_exists. split.
  - intros [[[[A B] C] D] [m [Hm E]]]. rewrite !andb_true_iff, !Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E. repeat (split; [assumption|]). exists m. tauto.
  - intros [A [B [C [D [m [Hm E]]]]]]. repeat (split; [tauto|]). exists m. rewrite !andb_true_iff, !Nat.eqb_eq, Z.leb_le, Z.ltb_lt. tauto.
Qed.
Lemma truth_variables x : truth ms x = true -> In x variables.
Proof.
  destruct x as [[[c k] [a z]] t]. intros T. unfold variables. rewrite !in_app_iff.
  destruct c as [|[|[|[|c]]]], z as [|z]; try discriminate T.
  - left. change (truth ms (has k a t) = true) in T. apply truth_has in T. destruct T as [Hk [Hh [Ht [m [Hm [E1 [E2 L]]]]]]].
    apply in_flat_map. exists k. split; [apply in_seq; lia|]. apply in_flat_map. exists a. split.
    + unfold havers. apply filter_In. rewrite negb_true_iff, Nat.eqb_neq. split; auto. apply in_seq.
      destruct (numbers_ok _ P m Hm) as [_ Ha]. destruct good as [_ [_ [_ [R _]]]]. specialize (R _ Ha). fold (over_arc m) in R. lia.
    + apply (in_map (has k a)). apply in_range. pose proof (arrives_early ms m P Hm). subst k a. lia.
  - right. left. change (truth ms (send k a t) = true) in T. apply truth_send in T. destruct T as [Hh Hm].
    destruct (numbers_ok _ P _ Hm) as [Hk Ha]. cbn [chunk_of arc_of] in *.
    apply in_flat_map. exists k. split; [apply in_seq; lia|]. apply in_flat_map. exists a. split; [apply in_seq; lia|].
    apply (in_map (send k a)). unfold sends. rewrite (proj2 (Nat.eqb_neq _ _) Hh). apply in_range.
    pose proof (at_earliest ms _ P Hm). pose proof (in_time _ P _ Hm). unfold arrives, over_arc in *. cbn [chunk_of arc_of start] in *. lia.
  - right. right. simpl in T. rewrite !andb_true_iff, !Nat.eqb_eq, !Z.leb_le in T. destruct T as [[[[[T0 ->] ->] T1] T2] _].
    rewrite negb_true_iff, Nat.eqb_neq in T0. unfold stepwise. destruct (steps s); [congruence|]. apply in_or_app. left. apply (in_map cut), in_range. lia.
  - right. right. change (truth ms (avail k a t) = true) in T. apply truth_avail in T. destruct T as [T0 [Hk [Hh [Ht [m [Hm [E1 [E2 [L _]]]]]]]]].
    unfold stepwise. destruct (steps s); [congruence|]. apply in_or_app. right.
    apply in_flat_map. exists k. split; [apply in_seq; lia|]. apply in_flat_map. exists a. split.
    + unfold havers. apply filter_In. rewrite negb_true_iff, Nat.eqb_neq. split; auto. apply in_seq.
      destruct (numbers_ok _ P m Hm) as [_ Ha]. destruct good as [_ [_ [_ [R _]]]]. specialize (R _ Ha). fold (over_arc m) in R. lia.
    + apply (in_map (avail k a)). apply in_range. pose proof (arrives_early ms m P Hm). subst k a. lia.
Qed.

Lemma held_true k v t : (k < chunks s)%nat -> t <= H -> (v <> holder s k -> exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = v /\ arrives m <= t) ->
  means (truth ms) (held k v t) = true.
Proof.
  intros Hk Ht E. unfold held. destruct (Nat.eqb_spec v (holder s k)); [reflexivity|]. apply truth_has. auto.
Qed.

Lemma arrivals_hold c : In c arrivals -> obeys (truth ms) c.
Proof.
  intros Hc. apply in_flat_map in Hc. destruct Hc as [k [Hk Hc]]. apply in_seq in Hk. apply in_flat_map in Hc. destruct Hc as [v [Hv Hc]].
  apply filter_In in Hv. rewrite negb_true_iff, Nat.eqb_neq in Hv. apply in_map_iff in Hc. destruct Hc as [t [<- Ht]]. apply in_range in Ht.
  unfold obeys. destruct (truth ms (has k v t)) eqn:T; [|exists (Not (has k v t)); split; [left; auto|unfold means; rewrite T; auto]].
  apply truth_has in T. destruct T as [_ [Hh [_ [m [Hm [E1 [E2 L]]]]]]].
  destruct (Z.eq_dec (arrives m) t) as [E|E].
  - exists (Yes (send k (arc_of m) (t - delay s k (the_arc (arc_of m))))). split.
    + right. right. apply (in_map (fun a => Yes (send k a (t - delay s k (the_arc a))))). apply filter_In.
      split; [apply in_seq; destruct (numbers_ok _ P m Hm); lia|]. apply Nat.eqb_eq. exact E2.
    + apply truth_send. split; [fold (over_arc m); congruence|]. subst k t. unfold arrives. fold (over_arc m).
      replace (start m + delay s (chunk_of m) (over_arc m) - delay s (chunk_of m) (over_arc m)) with (start m) by lia. rewrite move_eta. exact Hm.
  - exists (held k v (t - 1)). split; [right; left; auto|]. apply held_true; [lia|lia|]. intros _. exists m. repeat split; auto. lia.
Qed.
Lemma sources_hold c : In c sources -> obeys (truth ms) c.
Proof.
  intros Hc. apply in_flat_map in Hc. destruct Hc as [k [Hk Hc]]. apply in_seq in Hk. apply in_flat_map in Hc. destruct Hc as [a [Ha Hc]].
  apply in_seq in Ha. apply in_map_iff in Hc. destruct Hc as [t [<- Ht]]. unfold obeys.
  destruct (truth ms (send k a t)) eqn:T; [|exists (Not (send k a t)); split; [left; auto|unfold means; rewrite T; auto]].
  exists (at_hand k (tail_of (the_arc a)) t). split; [right; left; auto|]. apply truth_send in T. destruct T as [_ Hm].
  pose proof (in_time _ P _ Hm) as L0. pose proof (delay_1 ms _ P Hm) as D. unfold arrives in L0. cbn [start chunk_of] in *.
  assert (Has : tail_of (the_arc a) <> holder s k -> exists m, In m ms /\ chunk_of m = k /\ head_of (over_arc m) = tail_of (the_arc a) /\ arrives m <= t /\
      (steps s <> O -> step_of (start m) < step_of t)).
  { intros Hh. destruct (has_it _ P _ Hm) as [E|[m' [Hm' [E1 [E2 [L F]]]]]]; [unfold over_arc in E; cbn [arc_of chunk_of] in E; congruence|].
    exists m'. auto. }
  unfold at_hand. destruct (steps s) as [|n] eqn:Es.
  - apply held_true; [lia|lia|]. intros Hh. destruct (Has Hh) as [m' Hm']. exists m'. tauto.
  - destruct (Nat.eqb_spec (tail_of (the_arc a)) (holder s k)) as [|Hh]; [reflexivity|]. apply truth_avail. rewrite Es.
    split; [congruence|]. split; [lia|]. split; [exact Hh|]. split; [lia|]. destruct (Has Hh) as [m' [A1 [A2 [A3 [A4 A5]]]]]. exists m'.
    repeat (split; [assumption|]). apply A5. congruence.
Qed.
Lemma climbs n : steps s <> O -> Z.of_nat (how_many (fun t => step_of (t - 1) <? step_of t) (from_on 1 n)) <= step_of (Z.of_nat n) - step_of 0.
Proof.
  intros N. destruct (in_steps _ P N) as [Up _]. unfold from_on. induction n as [|n IH]; [simpl; lia|]. rewrite seq_S, map_app. unfold how_many in *.
  rewrite filter_app, app_length. cbn [map filter]. rewrite Nat.add_0_l. pose proof (Up (Z.of_nat n) (Z.of_nat (Datatypes.S n)) ltac:(lia)).
  replace (1 + Z.of_nat n - 1) with (Z.of_nat n) by lia. replace (1 + Z.of_nat n) with (Z.of_nat (Datatypes.S n)) by lia.
  destruct (Z.ltb_spec (step_of (Z.of_nat n)) (step_of (Z.of_nat (Datatypes.S n)))); cbn [length]; lia.
Qed.
Lemma few_steps_hold c : In c few_steps -> obeys (truth ms) c.
Proof.
  unfold few_steps, stepwise. destruct (steps s) as [|n] eqn:Es; [intros []|]. assert (N : steps s <> O) by congruence.
  intros Hc. apply in_app_or in Hc. destruct Hc as [Hc|[<-|[]]].
  - apply in_flat_map in Hc. destruct Hc as [k [Hk Hc]]. apply in_seq in Hk. apply in_flat_map in Hc. destruct Hc as [v [Hv Hc]].
    apply filter_In in Hv. rewrite negb_true_iff, Nat.eqb_neq in Hv. apply in_flat_map in Hc. destruct Hc as [t [Ht Hc]]. apply in_range in Ht.
    destruct (truth ms (avail k v t)) eqn:T.
    2: { destruct Hc as [<-|[<-|[]]]; exists (Not (avail k v t)); (split; [left; auto|unfold means; rewrite T; auto]). }
    apply truth_avail in T. destruct T as [_ [_ [Hh [_ [m [Hm [E1 [E2 [L F]]]]]]]]]. destruct Hc as [<-|[<-|[]]].
    + exists (held k v t). split; [right; left; auto|]. apply held_true; [lia|lia|]. intros _. exists m. auto.
    + destruct (waits _ P m Hm) as [W _]. destruct (numbers_ok _ P m Hm) as [Q1 Q2].
      assert (D : delay s (chunk_of m) (over_arc m) = 1) by (destruct good as [_ [_ [_ [_ [_ [_ [_ D]]]]]]]; apply D; auto).
      unfold arrives in L. destruct (Z_lt_le_dec (step_of (t - 1)) (step_of t)) as [U|U].
      * exists (Yes (cut t)). split; [right; left; auto|]. apply truth_cut. split; [exact N|]. split; [lia|exact U].
      * exists (at_hand k v (t - 1)). split; [right; right; left; auto|]. unfold at_hand. rewrite Es.
        destruct (Nat.eqb_spec v (holder s k)); [reflexivity|]. apply truth_avail. split; [exact N|]. split; [lia|]. split; [exact Hh|]. split; [lia|].
        exists m. repeat (split; [assumption|]). unfold arrives. destruct (Z.eq_dec (start m) (t - 1)) as [E|E]; [rewrite E in F; lia|]. split; lia.
  - unfold obeys. destruct (in_steps _ P N) as [_ B]. unfold range. set (m := Z.to_nat (H - 1 + 1 - 1)).
    apply Nat.le_trans with (how_many (fun t => step_of (t - 1) <? step_of t) (from_on 1 m)).
    + unfold how_many. induction (from_on 1 m) as [|t l IH]; [apply le_n|]. cbn [map filter].
      destruct (truth ms (cut t)) eqn:T; [apply truth_cut in T; rewrite (proj2 (Z.ltb_lt _ _)) by tauto; cbn [length]; lia|].
      destruct (step_of (t - 1) <? step_of t); cbn [length]; lia.
    + pose proof (climbs m N) as C. pose proof (B (Z.of_nat m) ltac:(lia)). pose proof (B 0 ltac:(lia)). lia.
Qed.
Lemma demands_hold c : In c demands -> obeys (truth ms) c.
Proof.
  intros Hc. apply in_flat_map in Hc. destruct Hc as [k [Hk Hc]]. apply in_seq in Hk. apply in_map_iff in Hc. destruct Hc as [v [<- Hv]].
  apply filter_In in Hv. destruct Hv as [Hv _]. exists (held k v H). split; [left; auto|]. apply held_true; [lia|lia|]. intros Hh.
  destruct (delivers _ P k v ltac:(lia) Hv Hh) as [m [Hm [E1 E2]]]. exists m. repeat split; auto. apply (in_time _ P m Hm).
Qed.
Lemma in_order_holds c : In c in_order -> obeys (truth ms) c.
Proof.
  intros Hc. apply in_flat_map in Hc. destruct Hc as [k [Hk Hc]]. apply in_seq in Hk. destruct k as [|k]; [destruct Hc|].
  destruct (first_wanted (Datatypes.S k)) as [v|] eqn:F; [|destruct Hc]. destruct (same s (Datatypes.S k)) eqn:Es; [|destruct Hc].
  apply in_map_iff in Hc. destruct Hc as [t [<- Ht]]. apply in_range in Ht. unfold obeys.
  destruct (truth ms (has (Datatypes.S k) v t)) eqn:T; [|exists (Not (has (Datatypes.S k) v t)); split; [left; auto|unfold means; rewrite T; auto]].
  exists (held k v t). split; [right; left; auto|]. apply held_true; [lia|lia|]. intros _.
  apply truth_has in T. destruct T as [_ [_ [_ T]]]. assert (C : comes ms (Datatypes.S k) v <= t) by (apply comes_le; auto).
  specialize (S k ltac:(lia) Es). unfold come_first in S. rewrite F in S.
  assert (F' : first_wanted k = Some v).
  { rewrite <- F. unfold first_wanted. destruct good as [_ [_ [_ [_ [_ [_ [G _]]]]]]]. destruct (G k ltac:(lia) Es) as [-> ->]. reflexivity. }
  rewrite F' in S. assert (C' : comes ms k v <= t) by lia. apply comes_le in C'. destruct C' as [C'|C']; [lia|exact C'].
Qed.

Lemma occupants_sends l t x : In x (occupants l t) -> exists k a u, x = send k a u /\ occupies l t (Move k a u) = true.
Proof.
  intros Hx. apply in_flat_map in Hx. destruct Hx as [k [_ Hx]]. apply in_flat_map in Hx. destruct Hx as [a [_ Hx]].
  destruct (spans l k (the_arc a)) as [|p ps]; [destruct Hx|]. apply in_map_iff in Hx. destruct Hx as [u [<- Hx]]. apply filter_In in Hx. exists k, a, u. tauto.
Qed.
Lemma nodup_flat {A B} (key : B -> A) (f : A -> list B) l :
  NoDup l -> (forall a, NoDup (f a)) -> (forall a b, In b (f a) -> key b = a) -> NoDup (flat_map f l).
Proof.
  intros Hl Hf Hk. induction Hl as [|a l Ha _ IH]; simpl; [constructor|]. specialize (Hf a). revert Hf. 
  assert (Out : forall b, In b (f a) -> ~ In b (flat_map f l)).
  { intros b Hb Hin. apply in_flat_map in Hin. destruct Hin as [a' [Ha' Hb']]. apply Hk in Hb. apply Hk in Hb'. congruence. }
  clear Hk. revert Out. generalize (f a). induction l0 as [|b l0 IH0]; simpl; intros Out Hf; [exact IH|]. inversion Hf; subst. constructor.
  - rewrite in_app_iff. intros [X|X]; [auto|]. apply (Out b); auto.
  - apply IH0; auto.
Qed.
Lemma nodup_map {A B} (f : A -> B) l : (forall a b, f a = f b -> a = b) -> NoDup l -> NoDup (map f l).
Proof.
  intros Hf H. induction H as [|a l Ha _ IH]; simpl; constructor; auto. intros Hin. apply in_map_iff in Hin.
  destruct Hin as [b [E Hb]]. apply Hf in E. congruence.
Qed.
Lemma occupants_once l t : NoDup (occupants l t).
Proof.
  unfold occupants, each_chunk. apply (nodup_flat (fun x : var => snd (fst (fst x)))); [apply seq_NoDup| |].
  - intros k. unfold each_arc. apply (nodup_flat (fun x : var => fst (snd (fst x)))); [apply seq_NoDup| |].
    + intros a. destruct (spans l k (the_arc a)); [constructor|]. apply nodup_map; [intros u u' E; injection E; auto|].
      apply NoDup_filter, NoDup_filter. unfold range, from_on. apply nodup_map; [intros i i' E; lia|]. apply seq_NoDup.
    + intros a x Hx. destruct (spans l k (the_arc a)); [destruct Hx|]. apply in_map_iff in Hx. destruct Hx as [u [<- _]]. reflexivity.
  - intros k x Hx. apply in_flat_map in Hx. destruct Hx as [a [_ Hx]].
    destruct (spans l k (the_arc a)); [destruct Hx|]. apply in_map_iff in Hx. destruct Hx as [u [<- _]]. reflexivity.
Qed.
Lemma capacities_hold c : In c capacities -> obeys (truth ms) c.
Proof.
  intros Hc. apply in_flat_map in Hc. destruct Hc as [g [Hg Hc]]. apply in_flat_map in Hc. destruct Hc as [t [Ht Hc]].
  apply in_range in Ht. apply in_map_iff in Hc. destruct Hc as [l [<- Hl]]. unfold obeys.
  eapply Nat.le_trans; [|apply (fits _ P g l t Hg Hl); lia]. unfold how_many.
  rewrite <- (map_length (fun m => send (chunk_of m) (arc_of m) (start m)) (filter (occupies l t) ms)).
  apply NoDup_incl_length; [apply NoDup_filter, occupants_once|]. intros x Hx. apply filter_In in Hx. destruct Hx as [Hx T].
  destruct (occupants_sends l t x Hx) as [k [a [u [-> O]]]]. apply truth_send in T. destruct T as [_ T].
  apply in_map_iff. exists (Move k a u). split; auto. apply filter_In. auto.
Qed.
Lemma formula_holds c : In c formula -> obeys (truth ms) c.
Proof.
  unfold formula. rewrite !in_app_iff. intros [H|[H|[H|[H|[H|H]]]]];
    [apply arrivals_hold|apply sources_hold|apply demands_hold|apply in_order_holds|apply capacities_hold|apply few_steps_hold]; exact H.
Qed.
End Truth.

(** A refutation of the formula leaves no plan. *)
Theorem no_plan proof : refuted_by variables formula proof = true -> forall ms, ~ plan ms.
Proof.
  intros R ms P. destruct (sortable ms P) as [ms' [P' S']].
  apply (refuted_by_sound _ _ _ (truth ms') R); [apply truth_variables, P'|]. intros c Hc. apply formula_holds; auto.
Qed.
End System.
