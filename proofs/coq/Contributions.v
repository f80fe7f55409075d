(** SPEC 10.6: the formula of an allreduce in rounds, and that it follows from an account of what each rank has
    of each chunk when each round begins, as a set of contributions, and of what is copied and added.
    Allreduce takes such an account from a right schedule. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Clauses Epochs.
Import ListNotations.
Open Scope Z_scope.

Section Formula.
Variables chunks ranks : nat.
Variable arcs : list arc.
Variable H : Z.
Variable idem : bool.                    (* the operator may take a contribution twice *)
Variable same : nat -> bool.             (* chunk k is as large as the one before *)
Variable limits : list (list limit).

Definition arc_at (a : nat) : arc := nth a arcs (Arc 0 0 []).
Definition tail (a : nat) : nat := tail_of (arc_at a).
Definition head (a : nat) : nat := head_of (arc_at a).

(** [v] has contribution [c] to chunk [k] when round [t] begins; an arc carries chunk [k] in round [t],
    copied (0) or added (1), and with it [c]; rank 0 received something of [k] before [t]. *)
Definition val (k v c : nat) (t : Z) : var := (((0, k), (v, c))%nat, t).
Definition move (o k a : nat) (t : Z) : var := (((1, k), (a, o))%nat, t).
Definition via (k a c : nat) (t : Z) : var := (((2, k), (a, c))%nat, t).
Definition got (k : nat) (t : Z) : var := (((3, k), (0, 0))%nat, t).

Definition each (n : nat) {A} (f : nat -> list A) : list A := flat_map f (seq 0 n).
Definition variables : list var :=
  each chunks (fun k => each ranks (fun v => each ranks (fun c => map (val k v c) (range 1 H)))) ++
  each chunks (fun k => each (length arcs) (fun a => flat_map (fun t => [move 0 k a t; move 1 k a t]) (range 0 (H - 1)))) ++
  each chunks (fun k => each (length arcs) (fun a => flat_map (fun t => map (fun c => via k a c t) (seq 0 ranks)) (range 0 (H - 1)))) ++
  each chunks (fun k => map (got k) (range 1 H)).

(** At the start each rank has its own contribution; what is no variable is false. *)
Definition pos (k v c : nat) (t : Z) : literal := if (t =? 0) && (v =? c)%nat then Always else Yes (val k v c t).
Definition neg (k v c : nat) (t : Z) : literal :=
  if t =? 0 then if (v =? c)%nat then Yes (val k v c t) else Always else Not (val k v c t).
Definition into (v : nat) : list nat := filter (fun a => (head a =? v)%nat) (seq 0 (length arcs)).
Fixpoint two_of {A} (l : list A) : list (A * A) :=
  match l with [] => [] | a :: l => map (pair a) l ++ two_of l end.

Definition received (k : nat) (t : Z) (v : nat) : list constraint :=
  let ins := into v in
  let copied a := move 0 k a t in let added a := move 1 k a t in
  let all f := flat_map (fun a => flat_map (f a) (seq 0 ranks)) ins in
  map (fun p => One_of [Not (copied (fst p)); Not (copied (snd p))]) (two_of ins) ++
  flat_map (fun a => map (fun b => One_of [Not (copied a); Not (added b)]) ins) ins ++
  all (fun a c => [One_of [Not (copied a); neg k (tail a) c t; pos k v c (t + 1)]; One_of [Not (copied a); pos k (tail a) c t; neg k v c (t + 1)]]) ++
  all (fun a c => [One_of [Not (added a); neg k (tail a) c t; pos k v c (t + 1)]]) ++
  (if idem then [] else
    all (fun a c => [One_of [Not (added a); neg k (tail a) c t; neg k v c t]]) ++
    flat_map (fun p => map (fun c => One_of [Not (added (fst p)); Not (added (snd p)); neg k (tail (fst p)) c t; neg k (tail (snd p)) c t]) (seq 0 ranks)) (two_of ins)) ++
  map (fun c => One_of (neg k v c t :: pos k v c (t + 1) :: map (fun a => Yes (copied a)) ins)) (seq 0 ranks) ++
  all (fun a c => [One_of [Not (via k a c t); Yes (copied a); Yes (added a)]; One_of [Not (via k a c t); pos k (tail a) c t]]) ++
  map (fun c => One_of (neg k v c (t + 1) :: pos k v c t :: map (fun a => Yes (via k a c t)) ins)) (seq 0 ranks).
Definition moves_of_0 (k : nat) (t : Z) : list literal := flat_map (fun a => [Yes (move 0 k a t); Yes (move 1 k a t)]) (into 0).
Definition in_order : list constraint :=
  each chunks (fun k => flat_map (fun t =>
    flat_map (fun a => [One_of [Not (move 0 k a t); Yes (got k (t + 1))]; One_of [Not (move 1 k a t); Yes (got k (t + 1))]]) (into 0) ++
    [One_of [Not (got k t); Yes (got k (t + 1))]; One_of (Not (got k (t + 1)) :: Yes (got k t) :: moves_of_0 k t)]) (range 0 (H - 1))) ++
  each chunks (fun k => match k with
    | S k' => if same k then map (fun t => One_of [Not (got k t); Yes (got k' t)]) (range 1 H) else []
    | O => []
    end).
Definition occupants (l : limit) (t : Z) : list var :=
  each chunks (fun k => each (length arcs) (fun a => match spans l k (arc_at a) with [] => [] | _ => [move 0 k a t; move 1 k a t] end)).
Definition capacities : list constraint :=
  flat_map (fun g => flat_map (fun t => map (fun l => Most (capacity l) (occupants l t)) g) (range 0 (H - 1))) limits.
Definition formula : list constraint :=
  each chunks (fun k => flat_map (fun t => each ranks (received k t)) (range 0 (H - 1))) ++
  each chunks (fun k => each ranks (fun v => map (fun c => One_of [pos k v c H]) (seq 0 ranks))) ++
  in_order ++ capacities.

(** ** Accounts *)

Variable V : nat -> nat -> nat -> Z -> bool.     (* chunk, rank, contribution, round *)
Variable act : nat -> nat -> nat -> Z -> bool.   (* copy or add, chunk, arc, round *)
Variable G : nat -> Z -> bool.

Record account : Prop := {
  from_own : forall k v c, V k v c 0 = (v =? c)%nat;
  in_the_end : forall k v c, (k < chunks)%nat -> (v < ranks)%nat -> (c < ranks)%nat -> V k v c H = true;
  copies_alone : forall o k a b t, act 0 k a t = true -> act o k b t = true -> head a = head b -> o = O /\ a = b;
  copied_is : forall k a c t, 0 <= t < H -> (c < ranks)%nat -> act 0 k a t = true -> V k (head a) c (t + 1) = V k (tail a) c t;
  added_in : forall k a c t, 0 <= t < H -> (c < ranks)%nat -> act 1 k a t = true -> V k (tail a) c t = true -> V k (head a) c (t + 1) = true;
  added_once : forall k a c t, idem = false -> 0 <= t < H -> (c < ranks)%nat -> act 1 k a t = true -> V k (tail a) c t = true -> V k (head a) c t = false;
  added_apart : forall k a b c t, idem = false -> 0 <= t < H -> (c < ranks)%nat -> act 1 k a t = true -> act 1 k b t = true -> a <> b -> head a = head b ->
    V k (tail a) c t = true -> V k (tail b) c t = false;
  stays : forall k v c t, 0 <= t < H -> (k < chunks)%nat -> (v < ranks)%nat -> (c < ranks)%nat -> V k v c t = true -> V k v c (t + 1) = true \/
    exists a, (a < length arcs)%nat /\ head a = v /\ act 0 k a t = true;
  came : forall k v c t, 0 <= t < H -> (k < chunks)%nat -> (v < ranks)%nat -> (c < ranks)%nat -> V k v c (t + 1) = true -> V k v c t = true \/
    exists a o, (a < length arcs)%nat /\ (o < 2)%nat /\ head a = v /\ act o k a t = true /\ V k (tail a) c t = true;
  got_0 : forall k, G k 0 = false;
  got_next : forall k t, 0 <= t < H -> (k < chunks)%nat -> G k (t + 1) = true <-> G k t = true \/
    exists a o, (a < length arcs)%nat /\ (o < 2)%nat /\ head a = O /\ act o k a t = true;
  got_first : forall k t, (S k < chunks)%nat -> same (S k) = true -> G (S k) t = true -> G k t = true;
  fits : forall g l t, In g limits -> In l g -> 0 <= t < H ->
    (how_many (fun x => match x with (((_, k), (a, o)), _) => act o k a t end) (occupants l t) <= capacity l)%nat }.

Hypothesis A : account.
Hypothesis H0 : 0 <= H.
Hypothesis tails : forall a, (a < length arcs)%nat -> (tail a < ranks)%nat.

Definition inside (t : Z) : bool := (0 <=? t) && (t <? H).
Definition truth (x : var) : bool :=
  let '(((w, k), (a, z)), t) := x in
  (k <? chunks)%nat &&
  match w with
  | O => (a <? ranks)%nat && (z <? ranks)%nat && inside (t - 1) && V k a z t
  | S O => (a <? length arcs)%nat && (z <? 2)%nat && inside t && act z k a t
  | S (S O) => (a <? length arcs)%nat && (z <? ranks)%nat && inside t && (act 0 k a t || act 1 k a t) && V k (tail a) z t
  | S (S (S O)) => (a =? 0)%nat && (z =? 0)%nat && inside (t - 1) && G k t
  | _ => false
  end.
Lemma inside_spec t : inside t = true <-> 0 <= t < H.
Proof. unfold inside. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt. lia. Qed.
Lemma truth_variables x : truth x = true -> In x variables.
Proof.
  destruct x as [[[w k] [a z]] t]. unfold truth, variables, each. rewrite andb_true_iff, Nat.ltb_lt. intros [Hk T]. rewrite !in_app_iff.
  destruct w as [|[|[|[|w]]]]; [left|right; left|right; right; left|right; right; right|discriminate];
    rewrite !andb_true_iff, inside_spec, ?Nat.ltb_lt, ?Nat.eqb_eq in T; apply in_flat_map; exists k; (split; [apply in_seq; lia|]).
  - apply in_flat_map. exists a. split; [apply in_seq; lia|]. apply in_flat_map. exists z. split; [apply in_seq; lia|].
    apply (in_map (val k a z)), in_range. lia.
  - apply in_flat_map. exists a. split; [apply in_seq; lia|]. apply in_flat_map. exists t. split; [apply in_range; lia|].
    destruct z as [|[|z]]; [left; reflexivity|right; left; reflexivity|lia].
  - apply in_flat_map. exists a. split; [apply in_seq; lia|]. apply in_flat_map. exists t. split; [apply in_range; lia|].
    apply (in_map (fun c => via k a c t)), in_seq. lia.
  - destruct T as [[[-> ->] T] _]. apply (in_map (got k)), in_range. lia.
Qed.
Lemma truth_move o k a t : (k < chunks)%nat -> (a < length arcs)%nat -> (o < 2)%nat -> 0 <= t < H -> truth (move o k a t) = act o k a t.
Proof. intros B C D E. simpl. apply Nat.ltb_lt in B, C. rewrite B, C, (proj2 (Nat.ltb_lt o 2) D), (proj2 (inside_spec t) E). reflexivity. Qed.
Lemma truth_via k a c t : (k < chunks)%nat -> (a < length arcs)%nat -> (c < ranks)%nat -> 0 <= t < H ->
  truth (via k a c t) = (act 0 k a t || act 1 k a t) && V k (tail a) c t.
Proof. intros B C D E. simpl. apply Nat.ltb_lt in B, C, D. rewrite B, C, D, (proj2 (inside_spec t) E). reflexivity. Qed.
Lemma truth_got k t : (k < chunks)%nat -> 0 <= t <= H -> truth (got k t) = G k t.
Proof.
  intros B E. simpl. apply Nat.ltb_lt in B. rewrite B. destruct (Z.eq_dec t 0) as [->|N]; [rewrite (got_0 A); reflexivity|].
  rewrite (proj2 (inside_spec (t - 1))) by lia. reflexivity.
Qed.
Lemma means_pos k v c t : (k < chunks)%nat -> (v < ranks)%nat -> (c < ranks)%nat -> 0 <= t <= H -> means truth (pos k v c t) = V k v c t.
Proof.
  intros B C D E. unfold pos. destruct (Z.eqb_spec t 0) as [->|N]; cbn [andb].
  - rewrite (from_own A). destruct (Nat.eqb_spec v c); [reflexivity|]. simpl. rewrite !andb_false_r. reflexivity.
  - simpl. apply Nat.ltb_lt in B, C, D. rewrite B, C, D, (proj2 (inside_spec (t - 1))) by lia. reflexivity.
Qed.
Lemma means_neg k v c t : (k < chunks)%nat -> (v < ranks)%nat -> (c < ranks)%nat -> 0 <= t <= H -> means truth (neg k v c t) = negb (V k v c t).
Proof.
  intros B C D E. unfold neg. destruct (Z.eqb_spec t 0) as [->|N].
  - rewrite (from_own A). destruct (Nat.eqb_spec v c); [|reflexivity]. simpl. rewrite !andb_false_r. reflexivity.
  - simpl. apply Nat.ltb_lt in B, C, D. rewrite B, C, D, (proj2 (inside_spec (t - 1))) by lia. reflexivity.
Qed.
Lemma in_into a v : In a (into v) -> (a < length arcs)%nat /\ head a = v.
Proof. intros Ha. apply filter_In in Ha. destruct Ha as [Ha E]. apply in_seq in Ha. apply Nat.eqb_eq in E. lia. Qed.
Lemma into_in a v : (a < length arcs)%nat -> head a = v -> In a (into v).
Proof. intros Ha E. apply filter_In. split; [apply in_seq; lia|apply Nat.eqb_eq, E]. Qed.
Lemma in_two_of {B} (l : list B) p : NoDup l -> In p (two_of l) -> In (fst p) l /\ In (snd p) l /\ fst p <> snd p.
Proof.
  induction l as [|a l IH]; simpl; intros Nd Hp; [destruct Hp|]. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2]. apply in_app_or in Hp. destruct Hp as [Hp|Hp].
  - apply in_map_iff in Hp. destruct Hp as [b [<- Hb]]. cbn [fst snd]. split; [auto|]. split; [auto|]. intros ->. auto.
  - destruct (IH N2 Hp) as [B1 [B2 B3]]. auto.
Qed.
Lemma into_once v : NoDup (into v).
Proof. apply NoDup_filter, seq_NoDup. Qed.

(** One of these literals. *)
Ltac is_true l := exists l; split; [simpl; auto 6|].
Lemma received_holds k t v x : (k < chunks)%nat -> 0 <= t < H -> (v < ranks)%nat -> In x (received k t v) -> obeys truth x.
Proof.
  intros Hk Ht Hv Hx. unfold received in Hx. rewrite !in_app_iff in Hx.
  assert (All : forall f, In x (flat_map (fun a => flat_map (f a) (seq 0 ranks)) (into v)) ->
      exists a c, (a < length arcs)%nat /\ head a = v /\ (c < ranks)%nat /\ In x (f a c)).
  { intros f Hf. apply in_flat_map in Hf. destruct Hf as [a [Ha Hf]]. apply in_flat_map in Hf. destruct Hf as [c [Hc Hf]].
    apply in_into in Ha. apply in_seq in Hc. exists a, c. intuition lia. }
  assert (No : forall o a l, (a < length arcs)%nat -> (o < 2)%nat -> act o k a t = false -> In (Not (move o k a t)) l -> obeys truth (One_of l)).
  { intros o a l Ha Ho Ea Hl. exists (Not (move o k a t)). split; [exact Hl|]. unfold means. rewrite truth_move, Ea by auto. reflexivity. }
  destruct Hx as [Hx|[Hx|[Hx|[Hx|[Hx|[Hx|[Hx|Hx]]]]]]].
  - apply in_map_iff in Hx. destruct Hx as [p [<- Hp]]. apply in_two_of in Hp; [|apply into_once]. destruct Hp as [P1 [P2 P3]]. apply in_into in P1, P2.
    destruct (act 0 k (fst p) t) eqn:E1; [|apply (No O (fst p)); simpl; auto; apply P1].
    destruct (act 0 k (snd p) t) eqn:E2; [|apply (No O (snd p)); simpl; auto; apply P2].
    exfalso. apply P3. apply (copies_alone A _ _ _ _ _ E1 E2). destruct P1, P2. congruence.
  - apply in_flat_map in Hx. destruct Hx as [a [Ha Hx]]. apply in_map_iff in Hx. destruct Hx as [b [<- Hb]]. apply in_into in Ha, Hb.
    destruct (act 0 k a t) eqn:E1; [|apply (No O a); simpl; auto; apply Ha].
    destruct (act 1 k b t) eqn:E2; [|apply (No 1%nat b); simpl; auto; apply Hb].
    exfalso. destruct (copies_alone A _ _ _ _ _ E1 E2) as [B _]; [destruct Ha, Hb; congruence|discriminate].
  - destruct (All _ Hx) as [a [c [Ha [Eh [Hc Hin]]]]]. pose proof (tails a Ha) as Hu.
    destruct (act 0 k a t) eqn:E1; [|destruct Hin as [<-|[<-|[]]]; apply (No O a); simpl; auto].
    pose proof (copied_is A k a c t Ht Hc E1) as E. rewrite Eh in E.
    destruct Hin as [<-|[<-|[]]]; destruct (V k (tail a) c t) eqn:Ev.
    + is_true (pos k v c (t + 1)). rewrite means_pos by (auto; lia). exact E.
    + is_true (neg k (tail a) c t). rewrite means_neg, Ev by (auto; lia). reflexivity.
    + is_true (pos k (tail a) c t). rewrite means_pos by (auto; lia). exact Ev.
    + is_true (neg k v c (t + 1)). rewrite means_neg, E by (auto; lia). reflexivity.
  - destruct (All _ Hx) as [a [c [Ha [Eh [Hc [<-|[]]]]]]]. pose proof (tails a Ha) as Hu.
    destruct (act 1 k a t) eqn:E1; [|apply (No 1%nat a); simpl; auto]. destruct (V k (tail a) c t) eqn:Ev.
    + is_true (pos k v c (t + 1)). rewrite means_pos by (auto; lia). rewrite <- Eh. apply (added_in A); auto.
    + is_true (neg k (tail a) c t). rewrite means_neg, Ev by (auto; lia). reflexivity.
  - destruct idem eqn:Ei; [destruct Hx|]. apply in_app_or in Hx. destruct Hx as [Hx|Hx].
    + destruct (All _ Hx) as [a [c [Ha [Eh [Hc [<-|[]]]]]]]. pose proof (tails a Ha) as Hu.
      destruct (act 1 k a t) eqn:E1; [|apply (No 1%nat a); simpl; auto]. destruct (V k (tail a) c t) eqn:Ev.
      * is_true (neg k v c t). rewrite means_neg by (auto; lia). rewrite <- Eh, (added_once A k a c t); auto.
      * is_true (neg k (tail a) c t). rewrite means_neg, Ev by (auto; lia). reflexivity.
    + apply in_flat_map in Hx. destruct Hx as [p [Hp Hx]]. apply in_map_iff in Hx. destruct Hx as [c [<- Hc]]. apply in_seq in Hc.
      apply in_two_of in Hp; [|apply into_once]. destruct Hp as [P1 [P2 P3]]. apply in_into in P1, P2. destruct P1 as [A1 B1], P2 as [A2 B2].
      destruct (act 1 k (fst p) t) eqn:E1; [|apply (No 1%nat (fst p)); simpl; auto].
      destruct (act 1 k (snd p) t) eqn:E2; [|apply (No 1%nat (snd p)); simpl; auto].
      pose proof (tails _ A1). pose proof (tails _ A2). destruct (V k (tail (fst p)) c t) eqn:Ev.
      * is_true (neg k (tail (snd p)) c t). rewrite means_neg by (auto; lia).
        rewrite (added_apart A k (fst p) (snd p) c t); auto; [lia|congruence].
      * is_true (neg k (tail (fst p)) c t). rewrite means_neg, Ev by (auto; lia). reflexivity.
  - apply in_map_iff in Hx. destruct Hx as [c [<- Hc]]. apply in_seq in Hc. destruct (V k v c t) eqn:Ev.
    + destruct (stays A k v c t Ht Hk Hv ltac:(lia) Ev) as [E|[a [Ha [Eh Ea]]]].
      * is_true (pos k v c (t + 1)). rewrite means_pos by (auto; lia). exact E.
      * exists (Yes (move 0 k a t)). split; [right; right; apply (in_map (fun a => Yes (move 0 k a t))), into_in; auto|]. unfold means. rewrite truth_move; auto.
    + is_true (neg k v c t). rewrite means_neg, Ev by (auto; lia). reflexivity.
  - destruct (All _ Hx) as [a [c [Ha [Eh [Hc Hin]]]]]. pose proof (tails a Ha) as Hu. destruct (truth (via k a c t)) eqn:Et.
    + rewrite truth_via in Et by auto. apply andb_true_iff in Et. destruct Et as [E1 E2]. destruct Hin as [<-|[<-|[]]].
      * apply orb_true_iff in E1. destruct E1 as [E1|E1]; [is_true (Yes (move 0 k a t))|is_true (Yes (move 1 k a t))]; unfold means; rewrite truth_move; auto.
      * is_true (pos k (tail a) c t). rewrite means_pos by (auto; lia). exact E2.
    + destruct Hin as [<-|[<-|[]]]; is_true (Not (via k a c t)); unfold means; rewrite Et; reflexivity.
  - apply in_map_iff in Hx. destruct Hx as [c [<- Hc]]. apply in_seq in Hc. destruct (V k v c (t + 1)) eqn:Ev.
    + destruct (came A k v c t Ht Hk Hv ltac:(lia) Ev) as [E|[a [o [Ha [Ho [Eh [Ea Eu]]]]]]].
      * is_true (pos k v c t). rewrite means_pos by (auto; lia). exact E.
      * exists (Yes (via k a c t)). split; [right; right; apply (in_map (fun a => Yes (via k a c t))), into_in; auto|]. unfold means.
        rewrite truth_via, Eu by (auto; lia). destruct o as [|[|o]]; [rewrite Ea; reflexivity|rewrite Ea, orb_true_r; reflexivity|lia].
    + is_true (neg k v c (t + 1)). rewrite means_neg, Ev by (auto; lia). reflexivity.
Qed.
Lemma in_order_holds x : In x in_order -> obeys truth x.
Proof.
  unfold in_order, each. intros Hx. apply in_app_or in Hx. destruct Hx as [Hx|Hx]; apply in_flat_map in Hx; destruct Hx as [k [Hk Hx]]; apply in_seq in Hk.
  - apply in_flat_map in Hx. destruct Hx as [t [Ht Hx]]. apply in_range in Ht. pose proof (got_next A k t ltac:(lia) ltac:(lia)) as N. apply in_app_or in Hx. destruct Hx as [Hx|Hx].
    + apply in_flat_map in Hx. destruct Hx as [a [Ha Hx]]. apply in_into in Ha. destruct Ha as [Ha Eh].
      assert (Each : forall o, (o < 2)%nat -> obeys truth (One_of [Not (move o k a t); Yes (got k (t + 1))])).
      { intros o Ho. destruct (act o k a t) eqn:Ea; [is_true (Yes (got k (t + 1)))|is_true (Not (move o k a t))]; unfold means.
        - rewrite truth_got by lia. apply N. right. exists a, o. auto.
        - rewrite truth_move, Ea by (auto; lia). reflexivity. }
      destruct Hx as [<-|[<-|[]]]; apply Each; lia.
    + destruct Hx as [<-|[<-|[]]].
      * destruct (G k t) eqn:Eg; [is_true (Yes (got k (t + 1)))|is_true (Not (got k t))]; unfold means; rewrite truth_got by lia; [apply N; auto|rewrite Eg; reflexivity].
      * destruct (G k (t + 1)) eqn:Eg; [|is_true (Not (got k (t + 1))); unfold means; rewrite truth_got, Eg by lia; reflexivity].
        destruct (proj1 N eq_refl) as [E|[a [o [Ha [Ho [Eh Ea]]]]]]; [is_true (Yes (got k t)); unfold means; rewrite truth_got by lia; exact E|].
        exists (Yes (move o k a t)). split; [|unfold means; rewrite truth_move; auto; lia]. right. right. apply in_flat_map. exists a. split; [apply into_in; auto|].
        destruct o as [|[|o]]; [left; reflexivity|right; left; reflexivity|lia].
  - destruct k as [|k]; [destruct Hx|]. destruct (same (S k)) eqn:Es; [|destruct Hx]. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. apply in_range in Ht.
    destruct (G (S k) t) eqn:Eg; [is_true (Yes (got k t))|is_true (Not (got (S k) t))]; unfold means; rewrite truth_got by lia;
      [apply (got_first A k t ltac:(lia) Es Eg)|rewrite Eg; reflexivity].
Qed.
Lemma capacities_hold x : In x capacities -> obeys truth x.
Proof.
  intros Hx. apply in_flat_map in Hx. destruct Hx as [g [Hg Hx]]. apply in_flat_map in Hx. destruct Hx as [t [Ht Hx]]. apply in_range in Ht.
  apply in_map_iff in Hx. destruct Hx as [l [<- Hl]]. unfold obeys. eapply Nat.le_trans; [|apply (fits A g l t Hg Hl); lia].
  assert (In_o : forall y, In y (occupants l t) -> exists o k a, y = move o k a t /\ (k < chunks)%nat /\ (a < length arcs)%nat /\ (o < 2)%nat).
  { intros y Hy. apply in_flat_map in Hy. destruct Hy as [k [Hk Hy]]. apply in_flat_map in Hy. destruct Hy as [a [Ha Hy]]. apply in_seq in Hk, Ha.
    destruct (spans l k (arc_at a)); [destruct Hy|]. destruct Hy as [<-|[<-|[]]]; [exists O|exists 1%nat]; exists k, a; repeat split; lia. }
  revert In_o. generalize (occupants l t). intros ys In_o. induction ys as [|y ys IH]; [apply le_n|]. rewrite !how_many_cons.
  specialize (IH (fun z Hz => In_o z (or_intror Hz))). destruct (In_o y (or_introl eq_refl)) as [o [k [a [-> [B [C D]]]]]].
  rewrite truth_move by (auto; lia). unfold move at 1. destruct (act o k a t); lia.
Qed.
Theorem formula_holds x : In x formula -> obeys truth x.
Proof.
  unfold formula. rewrite !in_app_iff. intros [Hx|[Hx|[Hx|Hx]]].
  - apply in_flat_map in Hx. destruct Hx as [k [Hk Hx]]. apply in_flat_map in Hx. destruct Hx as [t [Ht Hx]]. apply in_flat_map in Hx. destruct Hx as [v [Hv Hx]].
    apply in_seq in Hk, Hv. apply in_range in Ht. apply (received_holds k t v); auto; lia.
  - apply in_flat_map in Hx. destruct Hx as [k [Hk Hx]]. apply in_flat_map in Hx. destruct Hx as [v [Hv Hx]]. apply in_map_iff in Hx. destruct Hx as [c [<- Hc]].
    apply in_seq in Hk, Hv, Hc. is_true (pos k v c H). rewrite means_pos by lia. apply (in_the_end A); lia.
  - apply in_order_holds, Hx.
  - apply capacities_hold, Hx.
Qed.
End Formula.

(** A refutation of the formula leaves no account. *)
Theorem no_account chunks ranks arcs H idem same limits proof V act G : 0 <= H -> (forall a, (a < length arcs)%nat -> (tail arcs a < ranks)%nat) ->
  refuted_by (variables chunks ranks arcs H) (formula chunks ranks arcs H idem same limits) proof = true ->
  ~ account chunks ranks arcs H idem same limits V act G.
Proof.
  intros H0 T R A. apply (refuted_by_sound _ _ _ (truth chunks ranks arcs H V act G) R).
  - intros x. apply truth_variables; auto.
  - intros x. apply formula_holds with (idem := idem) (same := same) (limits := limits); auto.
Qed.
