(** StragglAR for n ranks and m chunks, any n >= 2 and m >= 1 (Devraj et al., arXiv:2505.23523): a
    schedule as a function, that it is right, and that none has fewer rounds. Chunk k is owned by
    rank k mod (n-1), the straggler is rank n-1.

    With h = ⌊log2 n⌋ the n-1 ready ranks form 2^h - 1 units, of one or two ranks each, as in B.
    Jia, "Process cooperation in multiple message broadcast" (EuroPVM/MPI 2007). In a round a unit
    gets one chunk and gives one; whose turn it is gets what the straggler sends ([Units]). Of two
    ranks in a unit one gives, the other gets, and lets the first have what it lacks; so each lacks
    one of the unit's chunks at most, and never the same. When the units have all, one more round is
    enough, in which the two exchange what they lack.

    The straggler has to give the sums of all, and the owners have those of the others. In round 0
    it sends its own part of chunk 0 to the owner. In round u, where it is the turn of the unit that
    owner u+1 is in, that owner sends its sum of chunk u+1 to the straggler, so that the straggler
    can send what is complete in the next round, to anybody. Chunk 0 it gets back at the end. *)
From Coq Require Import Bool List ZArith Arith Lia ZifyNat.
From Oraccl Require Import Round Spread Units.
Import ListNotations.
Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.

Section StragglAR.
(** 2K units, the straggler's among them, on a tree of height g+1; D of them are of two ranks. *)
Variables g K D m : nat.
Hypothesis HK : K = 2 ^ g.
Hypothesis few_pairs : D < 2 * K.
Hypothesis some_chunks : 1 <= m.
Notation h := (S g).
Notation U := (2 * K - 1). (* units *)
Notation N := (U + D). (* ready ranks, and the number of the straggler *)
Notation n := (S N).
Notation half := (N / 2).

Lemma K_pos : 1 <= K.
Proof. apply (K_pos g K HK). Qed.
Lemma K_big : g < K.
Proof. apply (K_big g K HK). Qed.

Lemma some_eq (a b : nat) : Some a = Some b <-> a = b.
Proof. split; congruence. Qed.

(** ** Units *)

Definition owner (k : nat) : nat := k mod N.
(** Rank r < U is the first of unit r; where there is a second, it is r + half. *)
Definition unit (r : nat) : nat := if r <? U then r else r - half.
Definition double (v : nat) : bool := (U <=? v + half) && (v + half <? N).
Definition other (r : nat) : nat := if r <? U then r + half else r - half.

Lemma double_spec v : double v = true <-> U <= v + half < N.
Proof. unfold double. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt. reflexivity. Qed.
Lemma unit_lt r : r < N -> unit r < U.
Proof. intros. pose proof K_pos. unfold unit. destruct (Nat.ltb_spec r U); lia. Qed.
Lemma unit_first v : v < U -> unit v = v.
Proof. intros. unfold unit. destruct (Nat.ltb_spec v U); lia. Qed.
Lemma other_spec r : r < N -> double (unit r) = true ->
  other r < N /\ other r <> r /\ unit (other r) = unit r /\ other (other r) = r.
Proof.
  intros Hr. rewrite double_spec. pose proof K_pos. unfold unit, other.
  destruct (Nat.ltb_spec r U); intros Hd; [destruct (Nat.ltb_spec (r + half) U)|destruct (Nat.ltb_spec (r - half) U)]; lia.
Qed.
Lemma unit_members r v : r < N -> unit r = v -> r = v \/ double v = true /\ r = other v.
Proof.
  intros Hr. rewrite double_spec. pose proof K_pos. unfold unit, other. destruct (Nat.ltb_spec r U); intros <-; [auto|].
  right. destruct (Nat.ltb_spec (r - half) U); lia.
Qed.
Lemma unit_single r : r < N -> double (unit r) = false -> unit r = r.
Proof. intros Hr Hd. destruct (unit_members r _ Hr eq_refl) as [E|[E _]]; congruence. Qed.

(** ** Turns *)

Definition turn (u : nat) : nat := if u =? 0 then 0 else unit (owner (S u)).

Lemma owner_lt k : owner k < N.
Proof. pose proof K_pos. apply Nat.mod_upper_bound. lia. Qed.
Lemma turn_lt u : turn u < U.
Proof. pose proof K_pos. unfold turn. destruct (u =? 0); [lia|]. apply unit_lt, owner_lt. Qed.
Lemma turns_apart u t : 0 < t <= g -> turn (u + t) <> turn u.
Proof.
  intros Ht. pose proof K_big. unfold turn. destruct (Nat.eqb_spec (u + t) 0); [lia|].
  assert (A : half >= g /\ (0 < D -> half > g)).
  { destruct D as [|d]; [|lia]. split; [|lia]. destruct g as [|[|g']]; [lia|lia|].
    pose proof (Nat.pow_gt_lin_r 2 (S g') ltac:(lia)) as P. rewrite HK, Nat.pow_succ_r'. lia. }
  destruct (Nat.eqb_spec u 0) as [->|Hu].
  - cbn [Nat.add]. unfold owner. rewrite Nat.mod_small by lia. unfold unit. destruct (Nat.ltb_spec (S t) U); lia.
  - set (a := owner (S u)). set (b := owner (S (u + t))).
    assert (E : b = a + t \/ b + N = a + t).
    { unfold a, b, owner. pose proof (Nat.div_mod (S u) N ltac:(lia)). pose proof (Nat.mod_upper_bound (S u) N ltac:(lia)).
      destruct (Nat.lt_ge_cases (S u mod N + t) N) as [L|L].
      - left. symmetry. apply (Nat.mod_unique _ _ (S u / N)); lia.
      - right. enough (S (u + t) mod N = S u mod N + t - N) by lia. symmetry. apply (Nat.mod_unique _ _ (S u / N + 1)); lia. }
    pose proof (owner_lt (S u)) as La. pose proof (owner_lt (S (u + t))) as Lb. fold a in La. fold b in Lb. clearbody a b.
    unfold unit. destruct (Nat.ltb_spec a U), (Nat.ltb_spec b U); lia.
Qed.

Notation depth := (Units.depth g K turn).
Notation mate := (Units.mate g K turn).

Definition mates_mate u v := mate_mate g K HK turn turn_lt turns_apart u v.
Definition turn_mate u := mate_turn g K HK turn turn_lt turns_apart u.
Definition depths u v := depth_range g K HK turn turn_lt turns_apart u v.
Definition turn_depth u := depth_turn g K HK turn turn_lt turns_apart u.
Definition mates_depth u v := depth_mate g K HK turn turn_lt turns_apart u v.

(** ** What a unit has *)

(** Once there is no new chunk, chunk m-1 is what the units of the least depths have. *)
Definition class (u v : nat) : nat := Nat.max (depth u v) (u + 1 - m).
Definition complete (u v k : nat) : bool := (k + h + 1 <=? u) || (k + class u v =? u).
(** The chunk that a unit gets in round u. *)
Definition got (u v : nat) : option nat :=
  if v =? turn u then Some (Nat.min u (m - 1))
  else if class u (mate u v) <=? u then Some (u - class u (mate u v)) else None.

Notation last := (m + g). (* how many rounds the units take *)

Lemma complete_spec u v k : complete u v k = true <-> k + h + 1 <= u \/ k + class u v = u.
Proof. unfold complete. rewrite orb_true_iff, Nat.leb_le, Nat.eqb_eq. reflexivity. Qed.
Lemma got_new u v k : u < last -> v < U -> got u v = Some k -> k < m /\ complete u v k = false.
Proof.
  intros Hu Hv G. enough (k < m /\ ~ complete u v k = true) by (destruct (complete u v k); intuition).
  rewrite complete_spec. unfold got in G. unfold class in *. destruct (Nat.eqb_spec v (turn u)) as [->|Hn].
  - apply some_eq in G. subst k. destruct (turn_depth u) as [-> _]. lia.
  - destruct (Nat.leb_spec (Nat.max (depth u (mate u v)) (u + 1 - m)) u); [|discriminate]. apply some_eq in G. subst k.
    destruct (mates_mate u v Hv) as [Mv _]. pose proof (depths u v Hv). pose proof (depths u _ Mv).
    pose proof (mates_depth u v Hv Hn). lia.
Qed.
Lemma complete_after u v k : u < last -> v < U -> k < m ->
  (complete (S u) v k = true <-> complete u v k = true \/ got u v = Some k).
Proof.
  intros Hu Hv Hk. rewrite !complete_spec. unfold got, class. destruct (Nat.eqb_spec v (turn u)) as [->|Hn].
  - destruct (turn_depth u) as [-> ->]. split; [|intros [A|[= <-]]]; [|lia|lia]. intros A.
    destruct (Nat.eq_dec k (Nat.min u (m - 1))); [auto|left; lia].
  - destruct (mates_mate u v Hv) as [Mv _]. pose proof (depths u v Hv). pose proof (depths u _ Mv).
    pose proof (mates_depth u v Hv Hn) as P.
    destruct (Nat.leb_spec (Nat.max (depth u (mate u v)) (u + 1 - m)) u) as [L|L].
    + rewrite some_eq. split; [|lia]. intros A.
      destruct (Nat.eq_dec k (u - Nat.max (depth u (mate u v)) (u + 1 - m))); [right; congruence|left; lia].
    + split; [intros A; left; lia|intros [A|A]; [lia|discriminate]].
Qed.

(** ** Who of two gives, and what each lacks *)

Definition is (a : option nat) (k : nat) : bool := match a with Some x => x =? k | None => false end.
Lemma is_spec a k : is a k = true <-> a = Some k.
Proof. destruct a as [x|]; simpl; [rewrite Nat.eqb_eq|]; split; congruence. Qed.

(** Of what ranks lack, and the round, follows who gives: in its turn the owner of the next chunk,
    if it is not in round 0, where rank 0 gets the first; else somebody who has it. *)
Definition gives (lacks : list (option nat)) (u v : nat) : nat :=
  if negb (double v) then v
  else if (v =? turn u) && (u =? 0) then other v
  else if (v =? turn u) && (S u <? m) then owner (S u)
  else if is (nth v lacks None) (if v =? turn u then 0 else u - class u v) then other v else v.
Fixpoint lacking (u : nat) : list (option nat) :=
  match u with
  | O => map (fun _ => None) (seq 0 N)
  | S u => let l := lacking u in
      map (fun r => if double (unit r) && (r =? gives l u (unit r)) then got u (unit r) else nth r l None) (seq 0 N)
  end.
Definition lack (u r : nat) : option nat := nth r (lacking u) None.
Definition giver (u v : nat) : nat := gives (lacking u) u v.
Definition getter (u v : nat) : nat := if double v then other (giver u v) else v.

Lemma nth_map_seq (f : nat -> option nat) r : r < N -> nth r (map f (seq 0 N)) None = f r.
Proof.
  intros Hr. rewrite nth_indep with (d' := f 0) by (rewrite map_length, seq_length; exact Hr).
  rewrite map_nth, seq_nth by exact Hr. reflexivity.
Qed.
Lemma lack_0 r : lack 0 r = None.
Proof.
  unfold lack. cbn [lacking]. destruct (Nat.lt_ge_cases r N) as [L|L]; [apply (nth_map_seq (fun _ => None)), L|].
  apply nth_overflow. rewrite map_length, seq_length. exact L.
Qed.
Lemma lack_S u r : r < N -> lack (S u) r = if double (unit r) && (r =? giver u (unit r)) then got u (unit r) else lack u r.
Proof. intros Hr. unfold lack at 1. cbn [lacking]. apply (nth_map_seq (fun r => _)), Hr. Qed.

Lemma giver_spec u v : v < U -> giver u v < N /\ unit (giver u v) = v.
Proof.
  intros Hv. pose proof K_pos. unfold giver, gives. destruct (double v) eqn:Hd; cbn [negb]; [|split; [lia|apply unit_first, Hv]].
  pose proof (other_spec v ltac:(lia)) as O. rewrite unit_first in O by exact Hv. destruct (O Hd) as [O1 [_ [O2 _]]]. clear O.
  destruct ((v =? turn u) && (u =? 0)) eqn:E0; [auto|]. destruct ((v =? turn u) && (S u <? m)) eqn:E1.
  - split; [apply owner_lt|]. apply andb_true_iff in E1. destruct E1 as [E1 _]. rewrite E1 in E0. apply Nat.eqb_eq in E1.
    cbn [andb] in E0. rewrite E1. unfold turn. rewrite E0. reflexivity.
  - destruct (is _ _); [auto|]. split; [lia|apply unit_first, Hv].
Qed.
Lemma getter_spec u v : v < U -> getter u v < N /\ unit (getter u v) = v.
Proof.
  intros Hv. pose proof K_pos. destruct (giver_spec u v Hv) as [G1 G2]. unfold getter. destruct (double v) eqn:Hd.
  - destruct (other_spec (giver u v) G1) as [A [_ [B _]]]; [rewrite G2; exact Hd|]. rewrite B. auto.
  - split; [lia|apply unit_first, Hv].
Qed.
Lemma giver_single u r : r < N -> double (unit r) = false -> giver u (unit r) = r /\ getter u (unit r) = r.
Proof.
  intros Hr Hd. unfold getter, giver, gives. rewrite Hd. cbn [negb]. rewrite unit_single by auto. auto.
Qed.
(** Of two, one gives and the other gets. *)
Lemma giver_or_getter u r : r < N -> double (unit r) = true ->
  giver u (unit r) = r /\ getter u (unit r) = other r \/ giver u (unit r) = other r /\ getter u (unit r) = r.
Proof.
  intros Hr Hd. pose proof (unit_lt r Hr) as Hv. destruct (giver_spec u _ Hv) as [G1 G2]. unfold getter. rewrite Hd.
  pose proof K_pos. remember (unit r) as v eqn:Ev. symmetry in Ev.
  pose proof (other_spec v ltac:(lia)) as O. rewrite unit_first in O by exact Hv. destruct (O Hd) as [_ [_ [_ Ov]]]. clear O.
  destruct (unit_members _ v G1 G2) as [E|[_ E]], (unit_members r v Hr Ev) as [E'|[_ E']]; rewrite E, E', ?Ov; auto.
Qed.

(** What a rank lacks, its unit has, and who is with it there does not lack the same. *)
Lemma lacks u : u <= last -> forall r, r < N -> forall x, lack u r = Some x ->
  double (unit r) = true /\ complete u (unit r) x = true /\ x < m /\ lack u (other r) <> Some x.
Proof.
  induction u as [|u IH]; intros Hu r Hr x; [rewrite lack_0; discriminate|].
  specialize (IH ltac:(lia)). pose proof (unit_lt r Hr) as Hv. rewrite lack_S by exact Hr.
  destruct (double (unit r)) eqn:Hd; cbn [andb]; [|intros E; destruct (IH r Hr x E); congruence].
  destruct (other_spec r Hr Hd) as [O1 [O2 [O3 O4]]]. rewrite lack_S, O3, Hd by exact O1. cbn [andb].
  destruct (giver_or_getter u r Hr Hd) as [[-> _]|[-> _]].
  - rewrite Nat.eqb_refl. destruct (Nat.eqb_spec (other r) r); [contradiction|]. intros E.
    destruct (got_new u _ x Hu Hv E) as [Hx Hc]. repeat split; auto.
    + apply complete_after; auto.
    + intros E'. destruct (IH _ O1 x E') as [_ [C _]]. rewrite O3 in C. congruence.
  - destruct (Nat.eqb_spec r (other r)); [congruence|]. rewrite Nat.eqb_refl. intros E.
    destruct (IH r Hr x E) as [_ [C [Hx _]]]. repeat split; auto.
    + apply complete_after; auto.
    + intros E'. destruct (got_new u _ x Hu Hv E') as [_ C']. congruence.
Qed.

(** ** The schedule *)

(** What a ready rank receives in round u. *)
Definition received (u r : nat) : option transfer :=
  let v := unit r in
  if r =? getter u v then
    if v =? turn u then Some (Transfer (Nat.min u (m - 1)) N r (if u =? 0 then Reduce else Copy))
    else option_map (fun k => Transfer k (giver u (mate u v)) r Copy) (got u v)
  else option_map (fun k => Transfer k (other r) r Copy) (lack u r).
(** What the straggler receives. *)
Definition returned (u : nat) : option transfer :=
  if S u <? m then Some (Transfer (S u) (owner (S u)) N Reduce)
  else if (m =? 1) && (u =? 0) then Some (Transfer 0 0 N Reduce)
  else if (2 <=? m) && (S u =? last) then Some (Transfer 0 (giver u (turn u)) N Copy)
  else None.
Definition inbound (u r : nat) : option transfer := if r =? N then returned u else received u r.
(** The round after those of the units. *)
Definition exchanged (r : nat) : option transfer :=
  if r =? N then None else option_map (fun k => Transfer k (other r) r Copy) (lack last r).

Definition of_each (f : nat -> option transfer) : round :=
  flat_map (fun r => match f r with Some t => [t] | None => [] end) (seq 0 n).
Definition rounds_of_units : schedule := map (fun u => of_each (inbound u)) (seq 0 last).
Definition spread : schedule := rounds_of_units ++ (if D =? 0 then [] else [of_each exchanged]).

Lemma in_each f t : In t (of_each f) <-> exists r, r < n /\ f r = Some t.
Proof.
  unfold of_each. rewrite in_flat_map. split; intros [r [A B]]; exists r.
  - apply in_seq in A. destruct (f r) as [t'|]; [|destruct B]. destruct B as [->|[]]. split; [lia|auto].
  - rewrite in_seq, B. split; [lia|left; auto].
Qed.
(** Each receives once, and who sends is known by its partner to send to nobody else. *)
Lemma each_once f to : (forall r t, r < n -> f r = Some t -> dst t = r /\ to (src t) = r) ->
  NoDup (map src (of_each f)) /\ NoDup (map dst (of_each f)).
Proof.
  intros Hf. assert (Dst : NoDup (map dst (of_each f))).
  { unfold of_each. assert (I : forall r, In r (seq 0 n) -> r < n) by (intros r Hr; apply in_seq in Hr; lia).
    pose proof (seq_NoDup n 0) as ND. revert I ND. generalize (seq 0 n). intros l I ND.
    induction ND as [|r l Hr ND IH]; [constructor|]. specialize (IH (fun x Hx => I x (or_intror Hx))). cbn [flat_map].
    destruct (f r) as [t|] eqn:E; [|exact IH]. cbn [app map]. constructor; [|exact IH].
    destruct (Hf r t (I r (or_introl eq_refl)) E) as [-> _]. intros H'. apply Hr. apply in_map_iff in H'.
    destruct H' as [t' [E' H']]. apply in_flat_map in H'. destruct H' as [r' [Hr' H']].
    destruct (f r') as [t2|] eqn:E2; [|destruct H']. destruct H' as [->|[]].
    destruct (Hf r' t' (I r' (or_intror Hr')) E2) as [A _]. congruence. }
  split; [|exact Dst]. apply (NoDup_map_inv to). rewrite map_map.
  replace (map (fun t => to (src t)) (of_each f)) with (map dst (of_each f)); [exact Dst|].
  apply map_ext_in. intros t Ht. apply in_each in Ht. destruct Ht as [r [Hr E]]. destruct (Hf r t Hr E). congruence.
Qed.

Definition task : problem := after_arrival n m N owner.

(** To whom a rank sends. *)
Definition sends_to (u s : nat) : nat :=
  if s =? N then getter u (turn u)
  else if u =? 0 then N
  else if s =? giver u (unit s) then if unit s =? turn u then N else getter u (mate u (unit s))
  else other s.

Lemma nothing_yet v : v < U -> v <> turn 0 -> got 0 v = None.
Proof.
  intros Hv Hn. unfold got. destruct (Nat.eqb_spec v (turn 0)); [contradiction|]. destruct (mates_mate 0 v Hv) as [Mv _].
  pose proof (depths 0 _ Mv). unfold class. destruct (Nat.leb_spec (Nat.max (depth 0 (mate 0 v)) (0 + 1 - m)) 0); [lia|reflexivity].
Qed.
Lemma giver_of_turn u : S u < m -> u <> 0 -> giver u (turn u) = owner (S u).
Proof.
  intros Hu H0. unfold giver, gives. rewrite Nat.eqb_refl, (proj2 (Nat.ltb_lt _ _) Hu), (proj2 (Nat.eqb_neq _ _) H0). cbn [andb].
  destruct (double (turn u)) eqn:Hd; [reflexivity|]. cbn [negb]. revert Hd. unfold turn. rewrite (proj2 (Nat.eqb_neq _ _) H0).
  intros Hd. apply unit_single; [apply owner_lt|exact Hd].
Qed.
Lemma first_getter : getter 0 0 = 0.
Proof.
  pose proof K_pos. unfold getter, giver, gives. destruct (double 0) eqn:Hd; [|reflexivity]. cbn [negb].
  change (turn 0) with 0. cbn [Nat.eqb andb].
  pose proof (other_spec 0 ltac:(lia)) as O. rewrite unit_first in O by lia. apply O, Hd.
Qed.

(** A round: who gets what from whom. *)
Lemma received_from u r t : u < last -> r < N -> received u r = Some t ->
  what t < m /\ src t < n /\ src t <> r /\ dst t = r /\ sends_to u (src t) = r.
Proof.
  intros Hu Hr. pose proof K_pos. pose proof (unit_lt r Hr) as Hv. unfold received.
  destruct (Nat.eqb_spec r (getter u (unit r))) as [G|G].
  - destruct (Nat.eqb_spec (unit r) (turn u)) as [T|T].
    + intros [= <-]. cbn [what src dst]. unfold sends_to. rewrite Nat.eqb_refl, <- T, <- G. lia.
    + destruct (got u (unit r)) as [k|] eqn:E; [|discriminate]. intros [= <-]. cbn [what src dst].
      destruct (got_new u _ k Hu Hv E) as [Hk _]. destruct (mates_mate u _ Hv) as [Mv MM].
      destruct (giver_spec u _ Mv) as [G1 G2]. split; [exact Hk|]. split; [lia|]. split; [|split; [reflexivity|]].
      * intros E'. rewrite E' in G2. pose proof (mates_depth u _ Hv T) as P. rewrite <- G2 in P. lia.
      * unfold sends_to. destruct (Nat.eqb_spec (giver u (mate u (unit r))) N); [lia|].
        destruct (Nat.eqb_spec u 0) as [->|]; [rewrite nothing_yet in E by auto; discriminate|].
        rewrite G2, Nat.eqb_refl, MM. destruct (Nat.eqb_spec (mate u (unit r)) (turn u)) as [T'|]; [|auto].
        exfalso. apply T. rewrite <- MM, T'. apply turn_mate.
  - destruct (lack u r) as [k|] eqn:E; [|discriminate]. intros [= <-]. cbn [what src dst].
    destruct (lacks u ltac:(lia) r Hr k E) as [Hd [_ [Hk _]]]. destruct (other_spec r Hr Hd) as [O1 [O2 [O3 O4]]].
    split; [exact Hk|]. split; [lia|]. split; [exact O2|]. split; [reflexivity|].
    unfold sends_to. destruct (Nat.eqb_spec (other r) N); [lia|].
    destruct (Nat.eqb_spec u 0) as [->|]; [rewrite lack_0 in E; discriminate|].
    rewrite O3. destruct (giver_or_getter u r Hr Hd) as [[A _]|[_ A]]; [|congruence]. rewrite A.
    destruct (Nat.eqb_spec (other r) r); [contradiction|auto].
Qed.
Lemma returned_from u t : u < last -> returned u = Some t ->
  what t < m /\ src t < N /\ dst t = N /\ sends_to u (src t) = N.
Proof.
  intros Hu. pose proof K_pos. unfold returned. destruct (Nat.ltb_spec (S u) m) as [L|L].
  - intros [= <-]. cbn [what src dst]. pose proof (owner_lt (S u)). do 3 (split; [lia|]). unfold sends_to.
    destruct (Nat.eqb_spec (owner (S u)) N); [lia|]. destruct (Nat.eqb_spec u 0) as [|U0]; [reflexivity|].
    assert (E : unit (owner (S u)) = turn u) by (unfold turn; rewrite (proj2 (Nat.eqb_neq _ _) U0); reflexivity).
    rewrite E, giver_of_turn, !Nat.eqb_refl by auto. reflexivity.
  - destruct ((m =? 1) && (u =? 0)) eqn:E1.
    + apply andb_true_iff in E1. destruct E1 as [_ E1]. apply Nat.eqb_eq in E1. subst u. intros [= <-].
      cbn [what src dst]. do 3 (split; [lia|]). unfold sends_to. destruct (Nat.eqb_spec 0 N); [lia|reflexivity].
    + destruct ((2 <=? m) && (S u =? last)) eqn:E2; [|discriminate]. intros [= <-]. cbn [what src dst].
      destruct (giver_spec u _ (turn_lt u)) as [G1 G2]. do 3 (split; [lia|]). unfold sends_to.
      destruct (Nat.eqb_spec (giver u (turn u)) N); [lia|]. destruct (u =? 0); [reflexivity|].
      rewrite G2, !Nat.eqb_refl. reflexivity.
Qed.
Lemma exchanged_from r t : r < n -> exchanged r = Some t ->
  r < N /\ lack last r = Some (what t) /\ src t = other r /\ op t = Copy /\ what t < m /\ src t < N /\ src t <> r /\ dst t = r /\ other (src t) = r.
Proof.
  intros Hr. unfold exchanged. destruct (Nat.eqb_spec r N); [discriminate|]. destruct (lack last r) as [k|] eqn:E; [|discriminate].
  intros [= <-]. cbn [what src dst op]. assert (Hr' : r < N) by lia.
  destruct (lacks last ltac:(lia) r Hr' k E) as [Hd [_ [Hk _]]]. destruct (other_spec r Hr' Hd) as [O1 [O2 [O3 O4]]]. repeat split; auto.
Qed.

Lemma legal_at u : u < last -> legal task (of_each (inbound u)).
Proof.
  intros Hu. assert (A : forall r t, r < n -> inbound u r = Some t -> what t < m /\ src t < n /\ src t <> r /\ dst t = r /\ sends_to u (src t) = r).
  { intros r t Hr. unfold inbound. destruct (Nat.eqb_spec r N) as [->|].
    - intros E. destruct (returned_from u t Hu E) as [B [C [-> F]]]. repeat split; auto; lia.
    - intros E. apply received_from; auto. lia. }
  split.
  - intros t Ht. apply in_each in Ht. destruct Ht as [r [Hr E]]. destruct (A r t Hr E) as [B [C [F [<- _]]]].
    cbn [task after_arrival ranks chunks]. auto.
  - apply each_once with (sends_to u). intros r t Hr E. destruct (A r t Hr E) as [_ [_ [_ B]]]. exact B.
Qed.
Lemma legal_exchange : legal task (of_each exchanged).
Proof.
  split.
  - intros t Ht. apply in_each in Ht. destruct Ht as [r [Hr E]]. pose proof (exchanged_from r t Hr E).
    cbn [task after_arrival ranks chunks]. intuition lia.
  - apply each_once with other. intros r t Hr E. pose proof (exchanged_from r t Hr E). intuition.
Qed.

(** ** What each rank has before round u *)

Definition held (u r k : nat) : bool := complete u (unit r) k && negb (is (lack u r) k).
Definition home (u k : nat) : bool := if k =? 0 then if m =? 1 then 1 <=? u else last <=? u else k <=? u.
Definition before (u : nat) : state := fun v k =>
  if m <=? k then None
  else if v =? N then Some (if home u k then all n else only n N)
  else if N <? v then None
  else if held u v k then Some (all n)
  else if v =? owner k then Some (all_but n N)
  else None.

Lemma before_rank u v k : v < N -> k < m ->
  before u v k = if held u v k then Some (all n) else if v =? owner k then Some (all_but n N) else None.
Proof.
  intros Hv Hk. unfold before. rewrite (proj2 (Nat.leb_gt _ _) Hk). destruct (Nat.eqb_spec v N); [lia|].
  destruct (Nat.ltb_spec N v); [lia|]. reflexivity.
Qed.
Lemma before_late u k : k < m -> before u N k = Some (if home u k then all n else only n N).
Proof. intros Hk. unfold before. rewrite (proj2 (Nat.leb_gt _ _) Hk), Nat.eqb_refl. reflexivity. Qed.
Lemma before_none u v k : m <= k \/ N < v -> before u v k = None.
Proof.
  intros Hv. unfold before. destruct (Nat.leb_spec m k); [reflexivity|]. destruct (Nat.eqb_spec v N); [lia|].
  destruct (Nat.ltb_spec N v); [reflexivity|lia].
Qed.

Lemma held_spec u r k : held u r k = true <-> complete u (unit r) k = true /\ lack u r <> Some k.
Proof.
  unfold held. rewrite andb_true_iff, negb_true_iff. destruct (is (lack u r) k) eqn:E.
  - apply is_spec in E. intuition congruence.
  - rewrite <- is_spec, E. intuition congruence.
Qed.

(** After a round a rank has what it had, and what it received. *)
Lemma held_after u r k : u < last -> r < N -> k < m ->
  (held (S u) r k = true <-> held u r k = true \/ exists t, received u r = Some t /\ what t = k).
Proof.
  intros Hu Hr Hk. pose proof (unit_lt r Hr) as Hv. rewrite !held_spec, (complete_after u _ k Hu Hv Hk), lack_S by exact Hr.
  assert (Ext : r = getter u (unit r) -> ((exists t, received u r = Some t /\ what t = k) <-> got u (unit r) = Some k)).
  { intros G. unfold received. rewrite <- G, Nat.eqb_refl. destruct (Nat.eqb_spec (unit r) (turn u)) as [T|T].
    - unfold got. rewrite (proj2 (Nat.eqb_eq _ _) T). split.
      + intros [t [[= <-] <-]]. reflexivity.
      + intros [= <-]. eexists. split; reflexivity.
    - destruct (got u (unit r)) as [x|]; cbn [option_map]; split.
      + intros [t [[= <-] <-]]. reflexivity.
      + intros [= <-]. eexists. split; reflexivity.
      + intros [t [[=] _]].
      + discriminate. }
  assert (New : got u (unit r) = Some k -> complete u (unit r) k = false) by (intros E; apply (got_new u _ k Hu Hv E)).
  assert (Old : lack u r = Some k -> complete u (unit r) k = true) by (intros E; apply (lacks u ltac:(lia) r Hr k E)).
  destruct (double (unit r)) eqn:Hd; cbn [andb].
  - destruct (other_spec r Hr Hd) as [_ [O2 _]]. destruct (giver_or_getter u r Hr Hd) as [[A B]|[A B]]; rewrite A.
    + rewrite Nat.eqb_refl. assert (Int : (exists t, received u r = Some t /\ what t = k) <-> lack u r = Some k).
      { unfold received. rewrite B. destruct (Nat.eqb_spec r (other r)); [congruence|].
      destruct (lack u r) as [x|]; cbn [option_map]; split.
        - intros [t [[= <-] <-]]. reflexivity.
        - intros [= <-]. eexists. split; reflexivity.
        - intros [t [[=] _]].
        - discriminate. }
      rewrite Int. destruct (is (lack u r) k) eqn:I.
      * apply is_spec in I. intuition congruence.
      * assert (lack u r <> Some k) by (rewrite <- is_spec, I; discriminate). intuition congruence.
    + rewrite (Ext (eq_sym B)). destruct (Nat.eqb_spec r (other r)); [congruence|]. intuition congruence.
  - destruct (giver_single u r Hr Hd) as [_ B]. rewrite (Ext (eq_sym B)).
    assert (lack u r <> Some k) by (intros E; destruct (lacks u ltac:(lia) r Hr k E); congruence). intuition.
Qed.

Lemma home_after u k : u < last -> k < m ->
  (home (S u) k = true <-> home u k = true \/ exists t, returned u = Some t /\ what t = k).
Proof.
  intros Hu Hk. unfold home, returned. destruct (Nat.eqb_spec k 0) as [->|K0].
  - destruct (Nat.eqb_spec m 1) as [M1|M1]; rewrite !Nat.leb_le.
    + destruct (Nat.ltb_spec (S u) m); [lia|]. destruct (Nat.eqb_spec u 0) as [->|U0]; cbn [andb].
      * split; [|lia]. intros _. right. eexists. split; reflexivity.
      * split; [intros _; left; lia|lia].
    + destruct (Nat.ltb_spec (S u) m) as [L|L].
      * split; [lia|]. intros [A|[t [[= <-] A]]]; [lia|]. cbn [what] in A. lia.
      * cbn [andb]. destruct (Nat.leb_spec 2 m); [|lia]. destruct (Nat.eqb_spec (S u) last) as [E|E]; cbn [andb].
        -- split; [|lia]. intros _. right. eexists. split; reflexivity.
        -- split; [intros; left; lia|]. intros [A|[t [[=] _]]]. lia.
  - rewrite !Nat.leb_le. destruct (Nat.ltb_spec (S u) m) as [L|L].
    + split.
      * intros A. destruct (Nat.eq_dec k (S u)) as [->|]; [|left; lia]. right. eexists. split; reflexivity.
      * intros [A|[t [[= <-] A]]]; [lia|]. cbn [what] in A. lia.
    + split; [intros; left; lia|]. intros [A|[t [E A]]]; [lia|].
      destruct ((m =? 1) && (u =? 0)); [injection E as <-; cbn [what] in A; lia|].
      destruct ((2 <=? m) && (S u =? last)); [injection E as <-; cbn [what] in A; lia|discriminate].
Qed.

Lemma add_all : add (all_but n N) (only n N) = all n /\ add (only n N) (all_but n N) = all n.
Proof.
  unfold all_but, only, all, vector. generalize (seq 0 n). intros l. generalize N. intros x.
  induction l as [|a l [IH1 IH2]]; [split; reflexivity|]. cbn [map add]. rewrite IH1, IH2. split; destruct (a =? x); reflexivity.
Qed.

(** Who gives has what is given. *)
Lemma giver_holds u v k : u < last -> v < U -> v <> turn u -> got u v = Some k -> held u (giver u (mate u v)) k = true.
Proof.
  intros Hu Hv Hn E. pose proof K_pos. destruct (mates_mate u v Hv) as [Mv MM]. destruct (giver_spec u _ Mv) as [G1 G2].
  unfold got in E. destruct (Nat.eqb_spec v (turn u)); [contradiction|].
  destruct (Nat.leb_spec (class u (mate u v)) u) as [L|L]; [|discriminate]. apply some_eq in E. subst k. apply held_spec.
  rewrite G2. split; [apply complete_spec; lia|].
  assert (T : (mate u v =? turn u) = false).
  { apply Nat.eqb_neq. intros T. apply Hn. rewrite <- MM, T. apply turn_mate. }
  unfold giver, gives. destruct (double (mate u v)) eqn:Hd; cbn [negb].
  - rewrite T. cbn [andb]. fold (lack u (mate u v)). destruct (is (lack u (mate u v)) (u - class u (mate u v))) eqn:I.
    + apply is_spec in I. apply (lacks u ltac:(lia) (mate u v) ltac:(lia) _ I).
    + rewrite <- is_spec, I. discriminate.
  - intros I. destruct (lacks u ltac:(lia) (mate u v) ltac:(lia) _ I) as [A _]. rewrite unit_first in A by exact Mv. congruence.
Qed.
(** At the end the unit whose turn it is has chunk 0, and one of it gives it back. *)
Lemma first_held u : 2 <= m -> S u = last -> held u (giver u (turn u)) 0 = true.
Proof.
  intros Hm Hu. pose proof K_pos. pose proof (turn_lt u) as Hv. destruct (giver_spec u _ Hv) as [G1 G2]. apply held_spec. rewrite G2. split.
  - apply complete_spec. unfold class. destruct (turn_depth u) as [-> _]. lia.
  - unfold giver, gives. destruct (double (turn u)) eqn:Hd; cbn [negb].
    + rewrite Nat.eqb_refl. cbn [andb]. destruct (Nat.eqb_spec u 0); [lia|]. destruct (Nat.ltb_spec (S u) m); [lia|].
      fold (lack u (turn u)). destruct (is (lack u (turn u)) 0) eqn:I.
      * apply is_spec in I. apply (lacks u ltac:(lia) (turn u) ltac:(lia) _ I).
      * rewrite <- is_spec, I. discriminate.
    + intros I. destruct (lacks u ltac:(lia) (turn u) ltac:(lia) _ I) as [A _]. rewrite unit_first in A by exact Hv. congruence.
Qed.

Lemma other_holds u r k : u <= last -> r < N -> lack u r = Some k -> held u (other r) k = true.
Proof.
  intros Hu Hr E. destruct (lacks u Hu r Hr k E) as [Hd [C [_ L]]]. destruct (other_spec r Hr Hd) as [_ [_ [O _]]].
  apply held_spec. rewrite O. auto.
Qed.

Lemma owner_waits u : S u < m -> held u (owner (S u)) (S u) = false.
Proof.
  intros Hu. destruct (held _ _ _) eqn:E; [|reflexivity]. apply held_spec in E. destruct E as [E _].
  apply complete_spec in E. pose proof (depths u _ (unit_lt _ (owner_lt (S u)))). unfold class in E. lia.
Qed.
Lemma held_0 r k : r < N -> held 0 r k = false.
Proof.
  intros Hr. destruct (held _ _ _) eqn:E; [|reflexivity]. apply held_spec in E. destruct E as [E _].
  apply complete_spec in E. pose proof (depths 0 _ (unit_lt _ Hr)). unfold class in E. lia.
Qed.

Lemma step_at u : u < last -> step (before u) (of_each (inbound u)) (before (S u)).
Proof.
  intros Hu. pose proof K_pos. destruct add_all as [Add1 Add2]. split.
  - intros t Ht. apply in_each in Ht. destruct Ht as [r [Hr E]]. unfold inbound in E. exists (all n).
    destruct (Nat.eqb_spec r N) as [->|Hn].
    + destruct (returned_from u t Hu E) as [Hk [Hs [Hd _]]]. rewrite Hd, before_late by exact Hk.
      rewrite (proj2 (home_after u (what t) Hu Hk)) by eauto. split; [|reflexivity]. unfold written.
      rewrite Hd, before_late, before_rank by auto.
      unfold returned in E. destruct (Nat.ltb_spec (S u) m) as [L|L]; [|destruct ((m =? 1) && (u =? 0)) eqn:E1;
      [|destruct ((2 <=? m) && (S u =? last)) eqn:E2; [|discriminate]]];
        injection E as <-; cbn [what src dst op].
      * rewrite owner_waits, Nat.eqb_refl by exact L. unfold home. destruct (Nat.eqb_spec (S u) 0); [lia|].
        destruct (Nat.leb_spec (S u) u); [lia|]. rewrite Add2. reflexivity.
      * apply andb_true_iff in E1. destruct E1 as [E1 E0]. apply Nat.eqb_eq in E0. subst u. rewrite held_0 by lia.
        unfold owner. rewrite Nat.mod_0_l, Nat.eqb_refl by lia. unfold home. rewrite E1. cbn [Nat.eqb Nat.leb]. rewrite Add2. reflexivity.
      * apply andb_true_iff in E2. rewrite Nat.leb_le, Nat.eqb_eq in E2. rewrite first_held by tauto. reflexivity.
    + assert (Hr' : r < N) by lia. destruct (received_from u r t Hu Hr' E) as [Hk [Hs [_ [Hd _]]]]. rewrite Hd, before_rank by auto.
      rewrite (proj2 (held_after u r (what t) Hu Hr' Hk)) by eauto. split; [|reflexivity]. unfold written. rewrite Hd.
      unfold received in E. destruct (Nat.eqb_spec r (getter u (unit r))) as [G|G].
      * destruct (Nat.eqb_spec (unit r) (turn u)) as [T|T].
        -- injection E as <-. cbn [what src dst op] in *. rewrite before_late by exact Hk. destruct (Nat.eqb_spec u 0) as [->|U0]; cbn [op].
           ++ change (Nat.min 0 (m - 1)) with 0. rewrite before_rank, held_0 by lia. change (turn 0) with 0 in T.
              rewrite T, first_getter in G. subst r.
              unfold owner. rewrite Nat.mod_0_l, Nat.eqb_refl by lia. unfold home. cbn [Nat.eqb].
              replace (if m =? 1 then 1 <=? 0 else last <=? 0) with false; [rewrite Add1; reflexivity|].
              destruct (m =? 1); [reflexivity|]. symmetry. apply Nat.leb_gt. lia.
           ++ unfold home. destruct (Nat.eqb_spec (Nat.min u (m - 1)) 0), (Nat.eqb_spec m 1), (Nat.leb_spec 1 u),
              (Nat.leb_spec last u), (Nat.leb_spec (Nat.min u (m - 1)) u); try lia; reflexivity.
        -- destruct (got u (unit r)) as [k|] eqn:E'; [|discriminate]. injection E as <-. cbn [what src dst op] in *.
           destruct (mates_mate u _ (unit_lt r Hr')) as [Mv _]. destruct (giver_spec u _ Mv) as [G1 _].
           rewrite before_rank, giver_holds by auto using unit_lt. reflexivity.
      * destruct (lack u r) as [k|] eqn:E'; [|discriminate]. injection E as <-. cbn [what src dst op] in *.
        destruct (lacks u ltac:(lia) r Hr' k E') as [Hdb _]. destruct (other_spec r Hr' Hdb) as [O1 _].
        rewrite before_rank by auto. rewrite (other_holds u r k ltac:(lia) Hr' E'). reflexivity.
  - intros v k Hn. destruct (Nat.le_gt_cases m k) as [Hk|Hk]; [rewrite !before_none by auto; reflexivity|].
    destruct (Nat.lt_trichotomy v N) as [Hv|[->|Hv]]; [| |rewrite !before_none by auto; reflexivity].
    + rewrite !before_rank by auto. pose proof (held_after u v k Hu Hv Hk) as A.
      assert (B : ~ exists t, received u v = Some t /\ what t = k).
      { intros [t [E <-]]. apply Hn. apply in_map_iff. exists t. destruct (received_from u v t Hu Hv E) as [_ [_ [_ [Hd _]]]].
        split; [unfold slot; rewrite Hd; reflexivity|]. apply in_each. exists v. split; [lia|]. unfold inbound.
        destruct (Nat.eqb_spec v N); [lia|exact E]. }
      replace (held (S u) v k) with (held u v k); [reflexivity|]. destruct (held u v k), (held (S u) v k); intuition congruence.
    + rewrite !before_late by auto. pose proof (home_after u k Hu Hk) as A.
      assert (B : ~ exists t, returned u = Some t /\ what t = k).
      { intros [t [E <-]]. apply Hn. apply in_map_iff. exists t. destruct (returned_from u t Hu E) as [_ [_ [Hd _]]].
        split; [unfold slot; rewrite Hd; reflexivity|]. apply in_each. exists N. split; [lia|]. unfold inbound.
        rewrite Nat.eqb_refl. exact E. }
      replace (home (S u) k) with (home u k); [reflexivity|]. destruct (home u k), (home (S u) k); intuition congruence.
Qed.

(** ** The schedule is right *)

Definition done : state := fun v k => if (v <? n) && (k <? m) then Some (all n) else None.

Lemma all_complete r k : r < N -> k < m -> complete last (unit r) k = true.
Proof. intros Hr Hk. apply complete_spec. pose proof (depths last _ (unit_lt r Hr)). unfold class. lia. Qed.
Lemma all_home k : k < m -> home last k = true.
Proof. intros Hk. unfold home. destruct (k =? 0); [destruct (m =? 1)|]; apply Nat.leb_le; lia. Qed.
Lemma before_last v k : before last v k =
  if (v <? n) && (k <? m) then if negb (v =? N) && is (lack last v) k then if v =? owner k then Some (all_but n N) else None else Some (all n) else None.
Proof.
  destruct (Nat.ltb_spec v n) as [Hv|Hv]; cbn [andb]; [|apply before_none; lia].
  destruct (Nat.ltb_spec k m) as [Hk|Hk]; [|apply before_none; lia].
  destruct (Nat.eqb_spec v N) as [->|Hn]; cbn [negb andb].
  - rewrite before_late, all_home by exact Hk. reflexivity.
  - rewrite before_rank by lia. unfold held. rewrite all_complete by lia. cbn [andb]. destruct (is (lack last v) k); reflexivity.
Qed.
Lemma step_exchange : step (before last) (of_each exchanged) done.
Proof.
  split.
  - intros t Ht. apply in_each in Ht. destruct Ht as [r [Hr E]]. destruct (exchanged_from r t Hr E) as [Hr' [L [Hs [Ho [Hk [Hs' [_ [Hd _]]]]]]]].
    exists (all n). unfold written. rewrite Ho, Hd, before_rank, Hs by auto. rewrite (other_holds last r _ (Nat.le_refl _) Hr' L).
    split; [reflexivity|]. unfold done. rewrite (proj2 (Nat.ltb_lt _ _) Hr), (proj2 (Nat.ltb_lt _ _) Hk). reflexivity.
  - intros v k Hn. rewrite before_last. unfold done. destruct (Nat.ltb_spec v n) as [Hv|Hv]; [|reflexivity].
    destruct (Nat.ltb_spec k m) as [Hk|Hk]; [|reflexivity].
    cbn [andb]. destruct (Nat.eqb_spec v N) as [|Hv']; [reflexivity|]. cbn [negb andb]. destruct (is (lack last v) k) eqn:I; [|reflexivity].
    exfalso. apply Hn. apply is_spec in I. apply in_map_iff. exists (Transfer k (other v) v Copy). split; [reflexivity|].
    apply in_each. exists v. split; [exact Hv|].
    unfold exchanged. destruct (Nat.eqb_spec v N); [contradiction|]. rewrite I. reflexivity.
Qed.
Lemma nobody_lacks : D = 0 -> forall v k, done v k = before last v k.
Proof.
  intros HD v k. rewrite before_last. unfold done. destruct ((v <? n) && (k <? m)) eqn:E; [|reflexivity].
  apply andb_true_iff in E. rewrite !Nat.ltb_lt in E.
  destruct (Nat.eqb_spec v N); [reflexivity|]. cbn [negb andb]. destruct (is (lack last v) k) eqn:I; [|reflexivity]. apply is_spec in I.
  destruct (lacks last (Nat.le_refl _) v ltac:(lia) k I) as [A _]. apply double_spec in A. lia.
Qed.

Lemma runs_app s sch s1 sch' s2 : runs s sch s1 -> runs s1 sch' s2 -> runs s (sch ++ sch') s2.
Proof.
  intros A. revert s2. induction A as [s s' E|s r s1 sch s' A B IH]; intros s2 C.
  - cbn [app]. destruct C as [s' s2 E2|s' r s1 sch' s2 [W Q] C].
    + constructor. intros. rewrite E2, E. reflexivity.
    + apply runs_round with s1; auto. split.
      * intros x Hx. destruct (W x Hx) as [w [F G]]. exists w. split; auto. unfold written in *. rewrite <- !E. exact F.
      * intros v k Hv. rewrite <- E. auto.
  - cbn [app]. apply runs_round with s1; auto.
Qed.
Lemma runs_from k : forall u, u + k <= last -> runs (before u) (map (fun u => of_each (inbound u)) (seq u k)) (before (u + k)).
Proof.
  induction k as [|k IH]; intros u Hu.
  - rewrite Nat.add_0_r. constructor. auto.
  - cbn [seq map]. apply runs_round with (before (S u)); [apply step_at; lia|].
    replace (u + S k) with (S u + k) by lia. apply IH. lia.
Qed.

Lemma lookup_map (f : nat -> rank) (w : value) l v k :
  lookup (map (fun k => ((f k, k), w)) l) v k = if existsb (Nat.eqb k) l && (v =? f k) then Some w else None.
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn [map lookup existsb]. unfold same_slot. cbn [fst snd].
  rewrite (Nat.eqb_sym a k). destruct (Nat.eqb_spec k a) as [->|E].
  - rewrite andb_true_r, (Nat.eqb_sym v). destruct (f a =? v) eqn:Ev; [reflexivity|].
    rewrite IH, (Nat.eqb_sym v), Ev, andb_false_r. reflexivity.
  - rewrite andb_false_r. exact IH.
Qed.
Lemma lookup_app a b v k : lookup (a ++ b) v k = match lookup a v k with Some w => Some w | None => lookup b v k end.
Proof. induction a as [|[s w] a IH]; simpl; auto. destruct (same_slot s (v, k)); auto. Qed.
Lemma before_0 v k : before 0 v k = lookup (start task) v k.
Proof.
  cbn [task after_arrival start]. rewrite lookup_app, (lookup_map (fun _ => N)), lookup_map.
  assert (E : existsb (Nat.eqb k) (seq 0 m) = (k <? m)).
  { destruct (Nat.ltb_spec k m) as [L|L].
    - apply existsb_exists. exists k. rewrite in_seq, Nat.eqb_refl. split; [lia|reflexivity].
    - apply not_true_iff_false. rewrite existsb_exists. intros [x [Hx Ex]]. apply in_seq in Hx. apply Nat.eqb_eq in Ex. lia. }
  rewrite E. pose proof (owner_lt k). destruct (Nat.ltb_spec k m) as [Hk|Hk]; [|apply before_none; auto]. cbn [andb].
  destruct (Nat.lt_trichotomy v N) as [Hv|[->|Hv]].
  - rewrite before_rank, held_0 by auto. destruct (Nat.eqb_spec v N); [lia|reflexivity].
  - rewrite before_late, Nat.eqb_refl by auto. replace (home 0 k) with false; [reflexivity|]. symmetry. unfold home.
    destruct (Nat.eqb_spec k 0); [destruct (m =? 1); [reflexivity|]|]; apply Nat.leb_gt; lia.
  - rewrite before_none by auto. destruct (Nat.eqb_spec v N), (Nat.eqb_spec v (owner k)); try lia. reflexivity.
Qed.

Lemma spread_runs : runs (lookup (start task)) spread done.
Proof.
  apply (runs_app _ [] (before 0)); [constructor; apply before_0|]. unfold spread. apply runs_app with (before last).
  - apply (runs_from last 0). lia.
  - destruct (Nat.eqb_spec D 0) as [E|E]; [constructor; apply nobody_lacks, E|].
    apply runs_round with done; [apply step_exchange|]. constructor. auto.
Qed.

Theorem right_schedule : right task spread.
Proof.
  split.
  - intros r Hr. unfold spread in Hr. apply in_app_iff in Hr. destruct Hr as [Hr|Hr].
    + apply in_map_iff in Hr. destruct Hr as [u [<- Hu]]. apply in_seq in Hu. apply legal_at. lia.
    + destruct (D =? 0); [destruct Hr|]. destruct Hr as [<-|[]]. apply legal_exchange.
  - exists done. split; [apply spread_runs|]. intros v k w Hin. cbn [task after_arrival goal] in Hin. unfold everywhere in Hin.
    apply in_flat_map in Hin. destruct Hin as [v' [Hv Hin]]. apply in_map_iff in Hin. destruct Hin as [k' [[= <- <- <-] Hk]].
    apply in_seq in Hv, Hk. unfold done. rewrite !(proj2 (Nat.ltb_lt _ _)) by lia. reflexivity.
Qed.

Lemma rounds_at_most : rounds spread <= last + (if D =? 0 then 0 else 1).
Proof.
  assert (L : forall sch, rounds sch <= length sch).
  { intros sch. unfold rounds. induction sch as [|r sch IH]; simpl; [lia|]. destruct (moves r); simpl; lia. }
  eapply Nat.le_trans; [apply L|]. unfold spread, rounds_of_units. rewrite app_length, map_length, seq_length.
  destruct (D =? 0); simpl; lia.
Qed.
End StragglAR.

(** The schedule for n ranks and m chunks. *)
Definition stragglar (n m : nat) : schedule :=
  let g := Nat.log2 n - 1 in spread g (2 ^ g) (n - 2 ^ S g) m.

(** After the last of n ranks has arrived: m + ⌈log2 n⌉ - 1 rounds. *)
Theorem stragglar_right n m : 2 <= n -> 1 <= m ->
  right (after_arrival n m (n - 1) (fun k => k mod (n - 1))) (stragglar n m) /\
  rounds (stragglar n m) = m + Nat.log2_up n - 1.
Proof.
  intros Hn Hm. unfold stragglar. set (g := Nat.log2 n - 1). set (D := n - 2 ^ S g).
  assert (G : Nat.log2 n = S g) by (pose proof (Nat.log2_pos n ltac:(lia)); lia).
  destruct (Nat.log2_spec n ltac:(lia)) as [A B]. rewrite G in A, B.
  assert (E2 : 2 ^ S g = 2 * 2 ^ g) by apply Nat.pow_succ_r'. assert (E3 : 2 ^ S (S g) = 2 * 2 ^ S g) by apply Nat.pow_succ_r'.
  pose proof (Nat.pow_nonzero 2 g ltac:(lia)) as P.
  assert (En : S (2 * 2 ^ g - 1 + D) = n) by lia. assert (En' : 2 * 2 ^ g - 1 + D = n - 1) by lia.
  pose proof (right_schedule g (2 ^ g) D m eq_refl ltac:(lia) Hm) as R. unfold task, owner in R. rewrite En, En' in R.
  split; [exact R|]. apply Nat.le_antisymm.
  - pose proof (rounds_at_most g (2 ^ g) D m eq_refl ltac:(lia) Hm) as L. eapply Nat.le_trans; [exact L|].
    destruct (Nat.eqb_spec D 0) as [D0|D0].
    + replace n with (2 ^ S g) by lia. rewrite Nat.log2_up_pow2 by lia. lia.
    + enough (S (S g) <= Nat.log2_up n) by lia. destruct (Nat.le_gt_cases (S (S g)) (Nat.log2_up n)) as [C|C]; auto. exfalso.
      assert (C' : Nat.log2_up n <= S g) by lia. apply Nat.log2_up_le_pow2 in C'; lia.
  - apply (after_arrival_rounds n m (n - 1) _ _ Hn Hm ltac:(lia) R).
Qed.

(** And no right schedule has fewer. *)
Corollary stragglar_optimal n m sch : 2 <= n -> 1 <= m ->
  right (after_arrival n m (n - 1) (fun k => k mod (n - 1))) sch -> rounds (stragglar n m) <= rounds sch.
Proof.
  intros Hn Hm R. rewrite (proj2 (stragglar_right n m Hn Hm)). apply (after_arrival_rounds n m (n - 1) _ _ Hn Hm ltac:(lia) R).
Qed.

(** Six ranks and five chunks, round by round: chunk, from, to. *)
Example six_ranks : map (map (fun t => (what t, src t, dst t))) (stragglar 6 5) =
  [ [(0, 5, 0); (1, 1, 5)];
    [(0, 0, 3); (1, 5, 4); (2, 2, 5)];
    [(1, 4, 0); (2, 5, 1); (0, 0, 2); (3, 3, 5)];
    [(2, 1, 0); (0, 3, 1); (3, 5, 2); (1, 0, 3); (0, 2, 4); (4, 4, 5)];
    [(4, 5, 0); (1, 3, 1); (1, 4, 2); (3, 2, 3); (2, 1, 4)];
    [(3, 2, 0); (3, 3, 1); (2, 4, 2); (4, 5, 3); (4, 0, 4); (0, 1, 5)];
    [(4, 3, 1); (4, 4, 2); (2, 1, 3); (3, 2, 4)] ].
Proof. vm_compute. reflexivity. Qed.
