(** StragglAR for n = 2^q ranks and m chunks, any q >= 1 and m >= 1 (Devraj et al.,
    arXiv:2505.23523, theorem 1, for any number of chunks): a schedule as a function, that it is
    right, and that none has fewer rounds. Chunk k is owned by rank k mod (n-1), the straggler is
    rank n-1. Left out: other numbers of ranks.

    The n-1 ready ranks stand in a ring, and with each round they move on by one place. The places
    are the nodes of a complete binary tree of height q, in the order in which a node comes before
    the nodes below it, and those on the left before those on the right. What a rank has depends
    on the depth d of its place alone: before round u the chunks before u-q, and chunk u-d. A node
    that is no leaf exchanges chunks with the leaf before its right child: the leaf gets what the
    node has, and moves on to a place one deeper than the node's, as the node itself does. The last
    leaf, on which no right child follows, has the straggler as its partner, and moves on to the
    root. *)
From Coq Require Import Bool List Arith Lia.
From Oraccl Require Import Round Spread.
Import ListNotations.

(** ** Places in the tree of height h, from 0 to 2^h - 2 *)

Fixpoint depth (h i : nat) : nat :=
  match h with
  | O => O
  | S h => if i =? 0 then 1 else S (depth h (if i <? 2 ^ h then i - 1 else i - 2 ^ h))
  end.

(** The partner of all but the last. *)
Fixpoint mate (h i : nat) : nat :=
  match h with
  | O => O
  | S h => if i =? 0 then 2 ^ h - 1 else if i =? 2 ^ h - 1 then 0
           else if i <? 2 ^ h then S (mate h (i - 1)) else 2 ^ h + mate h (i - 2 ^ h)
  end.

Lemma pow_pos h : 1 <= 2 ^ h.
Proof. induction h as [|h IH]; simpl; lia. Qed.
Lemma pow_S h : 2 ^ S h = 2 ^ h + 2 ^ h.
Proof. simpl. lia. Qed.

Ltac split_ifs :=
  repeat match goal with
  | |- context [if ?a =? ?b then _ else _] => destruct (Nat.eqb_spec a b)
  | |- context [if ?a <? ?b then _ else _] => destruct (Nat.ltb_spec a b)
  end.

Lemma depth_root h : 1 <= h -> depth h 0 = 1.
Proof. destruct h; simpl; lia. Qed.
Lemma depth_range h : forall i, i + 1 < 2 ^ h -> 1 <= depth h i <= h.
Proof.
  induction h as [|h IH]; intros i Hi; [simpl in Hi; lia|]. rewrite pow_S in Hi. cbn [depth]. split_ifs; [lia| |].
  - specialize (IH (i - 1)). lia.
  - specialize (IH (i - 2 ^ h)). lia.
Qed.
Lemma depth_last h : depth h (2 ^ h - 2) = h.
Proof.
  induction h as [|h IH]; [reflexivity|]. rewrite pow_S. pose proof (pow_pos h). cbn [depth]. split_ifs.
  - assert (2 ^ h = 1) by lia. destruct h; [reflexivity|]. rewrite pow_S in *. pose proof (pow_pos h). lia.
  - lia.
  - replace (2 ^ h + 2 ^ h - 2 - 2 ^ h) with (2 ^ h - 2) by lia. lia.
Qed.

(** Partners: of each two, one is a leaf, and the place after the leaf's is one deeper than the
    other's. *)
Definition partners (h i y : nat) : Prop :=
  depth h i = h /\ depth h y < h /\ depth h (S i) = S (depth h y) \/
  depth h i < h /\ depth h y = h /\ depth h (S i) = S (depth h i).
Lemma mates h : forall i, i + 2 < 2 ^ h -> mate h i + 2 < 2 ^ h /\ mate h (mate h i) = i /\ partners h i (mate h i).
Proof.
  induction h as [|h IH]; intros i Hi; [simpl in Hi; lia|]. rewrite pow_S in Hi. pose proof (pow_pos h).
  assert (Two : 2 <= 2 ^ h) by lia.
  assert (Hh : 1 <= h) by (destruct h; simpl in Two; lia).
  pose proof (depth_last h) as Last. pose proof (depth_root h Hh) as Root.
  rewrite pow_S. unfold partners. cbn [mate].
  destruct (Nat.eqb_spec i 0) as [->|N0]; [|destruct (Nat.eqb_spec i (2 ^ h - 1)) as [->|N1]].
  - cbn [depth]. split_ifs; try lia; replace (2 ^ h - 1 - 1) with (2 ^ h - 2) by lia; cbn [Nat.sub]; rewrite ?Last, ?Root; lia.
  - cbn [depth]. replace (S (2 ^ h - 1)) with (2 ^ h) by lia. split_ifs; try lia;
      replace (2 ^ h - 1 - 1) with (2 ^ h - 2) by lia; rewrite ?Nat.sub_diag, ?Last, ?Root; lia.
  - destruct (Nat.ltb_spec i (2 ^ h)) as [L|L].
    + destruct (IH (i - 1) ltac:(lia)) as [A [B C]]. unfold partners in C. cbn [depth].
      replace (S (i - 1)) with i in C by lia.
      split_ifs; try lia; cbn [Nat.sub]; rewrite ?Nat.sub_0_r, ?B; lia.
    + destruct (IH (i - 2 ^ h) ltac:(lia)) as [A [B C]]. unfold partners in C. cbn [depth].
      replace (S (i - 2 ^ h)) with (S i - 2 ^ h) in C by lia.
      split_ifs; try lia; replace (2 ^ h + mate h (i - 2 ^ h) - 2 ^ h) with (mate h (i - 2 ^ h)) by lia; rewrite ?B; lia.
Qed.

(** ** The schedule *)

Section StragglAR.
Variables q m : nat.
Hypothesis some_ranks : 1 <= q.
Hypothesis some_chunks : 1 <= m.
Notation n := (2 ^ q).
Notation late := (n - 1). (* and how many are ready *)
Notation last := (n - 2).

(** Who is at place i in round u, and at which place is v: the same function. *)
Definition who (u i : nat) : nat := (u + (late - 1 - i)) mod late.

(** Once there is no new chunk, chunk m-1 is what the ranks of the least depths have. *)
Definition class (u i : nat) : nat := Nat.max (depth q i) (u + 1 - m).
Definition exchange (u : nat) : round :=
  let o := who u last in
  if u <? m then [Transfer u late o Reduce; Transfer u o late Reduce] else [Transfer (m - 1) late o Copy].
Definition swap (u i : nat) : round :=
  if class u i <=? u then [Transfer (u - class u i) (who u i) (who u (mate q i)) Copy] else [].
Definition round_at (u : nat) : round := exchange u ++ flat_map (swap u) (seq 0 last).
Definition stragglar : schedule := map round_at (seq 0 (m + q - 1)).

(** ** What each rank has before round u *)

Definition complete (u i k : nat) : bool := (k + q + 1 <=? u) || (k + class u i =? u).
Definition before (u : nat) : state := fun v k =>
  if m <=? k then None
  else if v =? late then Some (if k <? u then all n else only n late)
  else if late <? v then None
  else if complete u (who u v) k then Some (all n)
  else if (u <=? k) && (v =? k mod late) then Some (all_but n late)
  else None.

Lemma two : 2 <= n.
Proof. destruct q as [|q']; [lia|]. rewrite pow_S. pose proof (pow_pos q'). lia. Qed.

Lemma who_lt u i : who u i < late.
Proof. pose proof two. apply Nat.mod_upper_bound. lia. Qed.
Lemma who_who u i : i < late -> who u (who u i) = i.
Proof.
  intros Hi. pose proof two. pose proof (who_lt u i) as W.
  pose proof (Nat.div_mod (u + (late - 1 - i)) late ltac:(lia)) as E. fold (who u i) in E.
  unfold who at 1. symmetry. apply (Nat.mod_unique _ late ((u + (late - 1 - i)) / late)); lia.
Qed.
Lemma who_next u i : i < last -> who (S u) (S i) = who u i.
Proof. intros Hi. unfold who. f_equal. lia. Qed.
Lemma who_last u : who u last = u mod late.
Proof. unfold who. f_equal. lia. Qed.
Lemma who_first u : who (S u) 0 = u mod late.
Proof. pose proof two. unfold who. replace (S u + (late - 1 - 0)) with (u + 1 * late) by lia. apply Nat.mod_add. lia. Qed.
Lemma who_injective u i k : i < late -> k < late -> who u i = who u k -> i = k.
Proof. intros Hi Hk E. rewrite <- (who_who u i Hi), <- (who_who u k Hk), E. reflexivity. Qed.

(** The place after. *)
Definition next (i : nat) : nat := if i =? last then 0 else S i.
Lemma who_moves u v : v < late -> who (S u) v = next (who u v).
Proof.
  intros Hv. pose proof two. pose proof (who_lt u v) as W. unfold next. destruct (Nat.eqb_spec (who u v) last) as [E|E].
  - assert (v = u mod late) as -> by (rewrite <- who_last, <- E; symmetry; apply who_who, Hv).
    rewrite <- who_first. apply who_who. lia.
  - apply (who_injective (S u)); [apply who_lt|lia|]. rewrite who_who by exact Hv.
    rewrite who_next by lia. symmetry. apply who_who, Hv.
Qed.

(** What is complete after the round: what was, and what the partner has. *)
Definition gets (u i k : nat) : Prop := if i =? last then k = Nat.min u (m - 1) else k + class u (mate q i) = u.
Lemma complete_after u i k : u < m + q - 1 -> i < late -> k < m ->
  (complete (S u) (next i) k = true <-> complete u i k = true \/ gets u i k).
Proof.
  intros Hu Hi Hk. pose proof two. unfold complete, gets, next, class. rewrite !orb_true_iff, !Nat.leb_le, !Nat.eqb_eq.
  destruct (Nat.eqb_spec i last) as [->|E].
  - rewrite depth_root, depth_last by auto. lia.
  - destruct (mates q i ltac:(lia)) as [_ [_ [[A [B C]]|[A [B C]]]]]; rewrite C; lia.
Qed.
Lemma sender_complete u i : class u i <= u -> complete u i (u - class u i) = true.
Proof. intros H. unfold complete. apply orb_true_iff. right. apply Nat.eqb_eq. lia. Qed.

Lemma before_rank u v k : v < late -> k < m -> before u v k =
  if complete u (who u v) k then Some (all n) else if (u <=? k) && (v =? k mod late) then Some (all_but n late) else None.
Proof.
  intros Hv Hk. unfold before. rewrite (proj2 (Nat.leb_gt _ _) Hk). destruct (Nat.eqb_spec v late); [lia|].
  destruct (Nat.ltb_spec late v); [lia|]. reflexivity.
Qed.
Lemma before_late u k : k < m -> before u late k = Some (if k <? u then all n else only n late).
Proof. intros Hk. unfold before. rewrite (proj2 (Nat.leb_gt _ _) Hk), Nat.eqb_refl. reflexivity. Qed.

Lemma add_all : add (all_but n late) (only n late) = all n /\ add (only n late) (all_but n late) = all n.
Proof.
  unfold all_but, only, all, vector. generalize (seq 0 n). intros l. generalize late. intros x.
  induction l as [|a l [IH1 IH2]]; [split; reflexivity|]. cbn [map add]. rewrite IH1, IH2. split; destruct (a =? x); reflexivity.
Qed.

(** ** The transfers of a round *)

Lemma in_round u t : In t (round_at u) <-> In t (exchange u) \/ exists i, i < last /\ class u i <= u /\
  t = Transfer (u - class u i) (who u i) (who u (mate q i)) Copy.
Proof.
  unfold round_at. rewrite in_app_iff, in_flat_map. unfold swap. split; (intros [H|[i H]]; [left; exact H|right]).
  - exists i. destruct H as [H1 H2]. apply in_seq in H1. destruct (Nat.leb_spec (class u i) u); [|destruct H2].
    destruct H2 as [<-|[]]. repeat split; auto. lia.
  - destruct H as [H1 [H2 ->]]. exists i. split; [apply in_seq; lia|]. rewrite (proj2 (Nat.leb_le _ _) H2). left; auto.
Qed.
Lemma class_pos u i : i < late -> 1 <= class u i.
Proof. intros Hi. pose proof two. pose proof (depth_range q i ltac:(lia)). unfold class. lia. Qed.
Lemma chunk_lt u i : i < late -> class u i <= u -> u - class u i < m.
Proof. intros Hi H. pose proof (class_pos u i Hi). unfold class in *. lia. Qed.

Lemma step_at u : u < m + q - 1 -> step (before u) (round_at u) (before (S u)).
Proof.
  intros Hu. pose proof two. destruct add_all as [Add1 Add2]. split.
  - intros t Ht. apply in_round in Ht. destruct Ht as [Ht|[i [Hi [Hc ->]]]].
    + pose proof (who_lt u last) as O.
      assert (Got : before (S u) (who u last) (Nat.min u (m - 1)) = Some (all n)).
      { rewrite before_rank by lia. rewrite who_moves, who_who by lia.
        rewrite (proj2 (complete_after u last (Nat.min u (m - 1)) Hu ltac:(lia) ltac:(lia))); auto.
        right. unfold gets. rewrite Nat.eqb_refl. reflexivity. }
      unfold exchange in Ht. destruct (Nat.ltb_spec u m) as [L|L].
      * rewrite Nat.min_l in Got by lia.
        assert (Own : before u (who u last) u = Some (all_but n late)).
        { rewrite before_rank by lia. rewrite who_who by lia.
          replace (complete u last u) with false.
          - rewrite Nat.leb_refl, who_last, Nat.eqb_refl. reflexivity.
          - symmetry. unfold complete. apply orb_false_iff. pose proof (class_pos u last ltac:(lia)).
            split; [apply Nat.leb_gt|apply Nat.eqb_neq]; lia. }
        exists (all n). destruct Ht as [<-|[<-|[]]]; unfold written; cbn [op what src dst].
        -- rewrite before_late, Own, Nat.ltb_irrefl, Add1 by lia. auto.
        -- rewrite !before_late, Own, Nat.ltb_irrefl, Add2 by lia. rewrite (proj2 (Nat.ltb_lt u (S u))) by lia. auto.
      * rewrite Nat.min_r in Got by lia. destruct Ht as [<-|[]]. exists (all n). unfold written. cbn [op what src dst].
        rewrite before_late by lia. rewrite (proj2 (Nat.ltb_lt (m - 1) u)) by lia. auto.
    + destruct (mates q i ltac:(lia)) as [M1 [M2 _]]. pose proof (chunk_lt u i ltac:(lia) Hc).
      pose proof (who_lt u i). pose proof (who_lt u (mate q i)).
      exists (all n). unfold written. cbn [op what src dst]. rewrite !before_rank by lia. split.
      * rewrite who_who, sender_complete by lia. reflexivity.
      * rewrite who_moves, who_who by lia. rewrite (proj2 (complete_after u (mate q i) (u - class u i) Hu ltac:(lia) ltac:(lia))); auto.
        right. unfold gets. destruct (Nat.eqb_spec (mate q i) last); [lia|]. rewrite M2. lia.
  - intros v k Hn. destruct (Nat.le_gt_cases m k) as [Hk|Hk].
    { unfold before. rewrite (proj2 (Nat.leb_le _ _) Hk). reflexivity. }
    destruct (Nat.lt_trichotomy v late) as [Hv|[->|Hv]].
    + rewrite !before_rank by auto. rewrite who_moves by exact Hv. set (i := who u v).
      assert (Hi : i < late) by apply who_lt.
      assert (Ei : who u i = v) by (apply who_who, Hv).
      assert (NoGet : ~ gets u i k).
      { intros G. apply Hn. unfold gets in G. apply in_map_iff. destruct (Nat.eqb_spec i last) as [E|E].
        - subst k. destruct (Nat.lt_ge_cases u m) as [L|L].
          + exists (Transfer u late v Reduce). rewrite Nat.min_l by lia. split; [reflexivity|]. apply in_round. left.
            unfold exchange. rewrite (proj2 (Nat.ltb_lt _ _) L), <- E, Ei. left; auto.
          + exists (Transfer (m - 1) late v Copy). rewrite Nat.min_r by lia. split; [reflexivity|]. apply in_round. left.
            unfold exchange. rewrite (proj2 (Nat.ltb_ge _ _) L), <- E, Ei. left; auto.
        - destruct (mates q i ltac:(lia)) as [M1 [M2 _]].
          exists (Transfer (u - class u (mate q i)) (who u (mate q i)) (who u (mate q (mate q i))) Copy).
          split; [unfold slot; cbn [dst what]; rewrite M2, Ei; f_equal; lia|]. apply in_round. right. exists (mate q i).
          repeat split; lia. }
      assert (Same : complete (S u) (next i) k = complete u i k).
      { pose proof (complete_after u i k Hu Hi Hk) as C. destruct (complete (S u) (next i) k), (complete u i k); auto; intuition discriminate. }
      rewrite Same. destruct (complete u i k) eqn:Ec; auto.
      destruct (Nat.eq_dec k u) as [->|Hku].
      * destruct (Nat.eqb_spec v (u mod late)) as [E|E]; [|rewrite !andb_false_r; reflexivity].
        exfalso. apply NoGet. unfold gets. replace (i =? last) with true; [lia|]. symmetry. apply Nat.eqb_eq.
        unfold i. rewrite E, <- who_last. apply who_who. lia.
      * replace (S u <=? k) with (u <=? k); auto. destruct (Nat.leb_spec u k), (Nat.leb_spec (S u) k); auto; lia.
    + rewrite !before_late by auto. destruct (Nat.eq_dec k u) as [->|Hku].
      * exfalso. apply Hn. apply in_map_iff. exists (Transfer u (who u last) late Reduce). split; [reflexivity|].
        apply in_round. left. unfold exchange. rewrite (proj2 (Nat.ltb_lt _ _) Hk). right; left; auto.
      * do 2 f_equal. destruct (Nat.ltb_spec k (S u)), (Nat.ltb_spec k u); auto; lia.
    + unfold before. rewrite (proj2 (Nat.leb_gt _ _) Hk). destruct (Nat.eqb_spec v late); [lia|].
      rewrite (proj2 (Nat.ltb_lt _ _) Hv). reflexivity.
Qed.

(** ** The rounds are legal *)

Definition owner (k : nat) : nat := k mod late.
Definition task : problem := after_arrival n m late owner.

Lemma swaps_once (f : transfer -> nat) (g : nat -> nat) u :
  (forall i, f (Transfer (u - class u i) (who u i) (who u (mate q i)) Copy) = who u (g i)) ->
  (forall i, i < last -> g i < last /\ g (g i) = i) ->
  NoDup (map f (flat_map (swap u) (seq 0 last))) /\
  forall x, In x (map f (flat_map (swap u) (seq 0 last))) -> exists i, i < last /\ x = who u i.
Proof.
  intros Hf Hg. pose proof two. assert (I : forall i, In i (seq 0 last) -> i < last) by (intros i Hi; apply in_seq in Hi; lia).
  assert (N : NoDup (seq 0 last)) by apply seq_NoDup. revert I N. generalize (seq 0 last). intros l I N.
  assert (In_l : forall x, In x (map f (flat_map (swap u) l)) -> exists i, In i l /\ x = who u (g i)).
  { intros x Hx. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. apply in_flat_map in Ht. destruct Ht as [i [Hi Ht]].
    unfold swap in Ht. destruct (class u i <=? u); [|destruct Ht]. destruct Ht as [<-|[]]. eauto. }
  split.
  - clear In_l. induction N as [|i l Hi N IH]; [constructor|]. cbn [flat_map]. rewrite map_app.
    specialize (IH (fun k Hk => I k (or_intror Hk))). unfold swap at 1. destruct (class u i <=? u); [|exact IH].
    cbn [map app]. constructor; [|exact IH]. rewrite Hf. intros H'. apply in_map_iff in H'. destruct H' as [t [E Ht]].
    apply in_flat_map in Ht. destruct Ht as [k [Hk Ht]]. unfold swap in Ht. destruct (class u k <=? u); [|destruct Ht].
    destruct Ht as [<-|[]]. rewrite Hf in E. pose proof (I i (or_introl eq_refl)) as Bi. pose proof (I k (or_intror Hk)) as Bk.
    destruct (Hg i Bi) as [Gi Gi']. destruct (Hg k Bk) as [Gk Gk']. apply who_injective in E; [|lia|lia].
    apply Hi. rewrite <- Gi', <- E, Gk'. exact Hk.
  - intros x Hx. destruct (In_l x Hx) as [i [Hi ->]]. exists (g i). split; auto. apply Hg, I, Hi.
Qed.
Lemma exchanged_once u (f : transfer -> nat) l : f = src \/ f = dst ->
  NoDup l -> (forall x, In x l -> exists i, i < last /\ x = who u i) -> NoDup (map f (exchange u) ++ l).
Proof.
  intros Hf Hl Hin. pose proof two. pose proof (who_lt u last) as O.
  assert (A : ~ In late l) by (intros Hx; destruct (Hin _ Hx) as [i [_ E]]; pose proof (who_lt u i); lia).
  assert (B : ~ In (who u last) l).
  { intros Hx. destruct (Hin _ Hx) as [i [Hi E]]. apply who_injective in E; lia. }
  unfold exchange. destruct (u <? m); destruct Hf as [-> | ->]; cbn [map app src dst]; repeat (constructor; [simpl; intuition lia|]); auto.
Qed.

Lemma legal_at u : legal task (round_at u).
Proof.
  pose proof two. split.
  - intros t Ht. apply in_round in Ht. cbn [task after_arrival ranks chunks]. destruct Ht as [Ht|[i [Hi [Hc ->]]]].
    + pose proof (who_lt u last). unfold exchange in Ht. destruct (Nat.ltb_spec u m).
      * destruct Ht as [<-|[<-|[]]]; cbn [what src dst]; lia.
      * destruct Ht as [<-|[]]; cbn [what src dst]; lia.
    + cbn [what src dst]. pose proof (who_lt u i). pose proof (who_lt u (mate q i)). pose proof (chunk_lt u i ltac:(lia) Hc).
      destruct (mates q i ltac:(lia)) as [M1 [M2 P]]. repeat split; try lia. intros E. apply who_injective in E; try lia.
      rewrite <- E in P. unfold partners in P. lia.
  - unfold round_at. rewrite !map_app. split.
    + destruct (swaps_once src (fun i => i) u (fun _ => eq_refl) ltac:(auto)) as [A B]. apply exchanged_once; auto.
    + destruct (swaps_once dst (mate q) u (fun _ => eq_refl)) as [A B].
      * intros i Hi. destruct (mates q i ltac:(lia)) as [M1 [M2 _]]. split; [lia|exact M2].
      * apply exchanged_once; auto.
Qed.

(** ** The schedule is right *)

Lemma runs_from k : forall u, u + k = m + q - 1 -> runs (before u) (map round_at (seq u k)) (before (u + k)).
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
  - rewrite andb_true_r, (Nat.eqb_sym v). destruct (f a =? v) eqn:Ev; [reflexivity|]. rewrite IH, (Nat.eqb_sym v), Ev, andb_false_r. reflexivity.
  - rewrite andb_false_r. exact IH.
Qed.
Lemma lookup_app a b v k : lookup (a ++ b) v k = match lookup a v k with Some w => Some w | None => lookup b v k end.
Proof. induction a as [|[s w] a IH]; simpl; auto. destruct (same_slot s (v, k)); auto. Qed.
Lemma before_0 v k : lookup (start task) v k = before 0 v k.
Proof.
  pose proof two. cbn [task after_arrival start]. rewrite lookup_app, (lookup_map (fun _ => late)), lookup_map.
  assert (E : existsb (Nat.eqb k) (seq 0 m) = (k <? m)).
  { destruct (Nat.ltb_spec k m) as [L|L].
    - apply existsb_exists. exists k. rewrite in_seq, Nat.eqb_refl. split; [lia|reflexivity].
    - apply not_true_iff_false. rewrite existsb_exists. intros [x [Hx Ex]]. apply in_seq in Hx. apply Nat.eqb_eq in Ex. lia. }
  rewrite E. assert (O : owner k < late) by (apply Nat.mod_upper_bound; lia). unfold before, owner in *.
  destruct (Nat.ltb_spec k m), (Nat.leb_spec m k); try lia; auto. cbn [andb].
  destruct (Nat.eqb_spec v late) as [->|Hv]; [reflexivity|].
  destruct (Nat.ltb_spec late v).
  - destruct (Nat.eqb_spec v (k mod late)); [lia|reflexivity].
  - replace (complete 0 (who 0 v) k) with false; [reflexivity|]. symmetry. unfold complete. apply orb_false_iff.
    pose proof (class_pos 0 (who 0 v) (who_lt 0 v)). split; [apply Nat.leb_gt|apply Nat.eqb_neq]; lia.
Qed.
Lemma runs_ext s t sch s' : (forall v k, s v k = t v k) -> runs s sch s' -> runs t sch s'.
Proof.
  intros E H. destruct H as [s s' H|s r s1 sch s' [W Q] H].
  - constructor. intros. rewrite <- E. auto.
  - apply runs_round with s1; auto. split.
    + intros x Hx. destruct (W x Hx) as [w [A B]]. exists w. split; auto. unfold written in *. rewrite <- !E. exact A.
    + intros v k Hn. rewrite <- E. auto.
Qed.

Theorem right_schedule : right task stragglar.
Proof.
  pose proof two. split.
  - intros r Hr. apply in_map_iff in Hr. destruct Hr as [u [<- _]]. apply legal_at.
  - exists (before (m + q - 1)). split.
    + apply (runs_ext (before 0)); [intros; symmetry; apply before_0|]. apply (runs_from (m + q - 1) 0). lia.
    + intros v k w Hin. cbn [task after_arrival goal] in Hin. unfold everywhere in Hin. apply in_flat_map in Hin.
      destruct Hin as [v' [Hv Hin]]. apply in_map_iff in Hin. destruct Hin as [k' [[= <- <- <-] Hk]].
      apply in_seq in Hv, Hk. destruct (Nat.eq_dec v' late) as [->|Ev].
      * rewrite before_late by lia. rewrite (proj2 (Nat.ltb_lt _ _)) by lia. reflexivity.
      * rewrite before_rank by lia. replace (complete _ _ _) with true; [reflexivity|]. symmetry.
        unfold complete. apply orb_true_iff. rewrite Nat.leb_le, Nat.eqb_eq. unfold class.
        pose proof (depth_range q (who (m + q - 1) v')). pose proof (who_lt (m + q - 1) v'). lia.
Qed.

Lemma rounds_at_most : rounds stragglar <= m + q - 1.
Proof.
  unfold rounds, stragglar. eapply Nat.le_trans; [|rewrite <- (seq_length (m + q - 1) 0); rewrite <- (map_length round_at); apply Nat.le_refl].
  generalize (map round_at (seq 0 (m + q - 1))). induction l as [|r l IH]; simpl; [lia|]. destruct (moves r); simpl; lia.
Qed.
End StragglAR.

(** For n = 2^q ranks and m chunks, after the arrival of the last: m + q - 1 rounds. *)
Theorem stragglar_right q m : 1 <= q -> 1 <= m ->
  right (after_arrival (2 ^ q) m (2 ^ q - 1) (fun k => k mod (2 ^ q - 1))) (stragglar q m) /\
  rounds (stragglar q m) = m + q - 1.
Proof.
  intros Hq Hm. pose proof (right_schedule q m Hq Hm) as R. split; [exact R|].
  pose proof (two q m Hq Hm). apply Nat.le_antisymm; [apply rounds_at_most; auto|].
  pose proof (after_arrival_rounds (2 ^ q) m (2 ^ q - 1) _ _ ltac:(lia) Hm ltac:(lia) R) as L.
  rewrite Nat.log2_up_pow2 in L by lia. exact L.
Qed.

(** And no right schedule has fewer. *)
Corollary stragglar_optimal q m sch : 1 <= q -> 1 <= m ->
  right (after_arrival (2 ^ q) m (2 ^ q - 1) (fun k => k mod (2 ^ q - 1))) sch -> rounds (stragglar q m) <= rounds sch.
Proof.
  intros Hq Hm R. rewrite (proj2 (stragglar_right q m Hq Hm)). pose proof (two q m Hq Hm).
  pose proof (after_arrival_rounds (2 ^ q) m (2 ^ q - 1) _ _ ltac:(lia) Hm ltac:(lia) R) as L.
  rewrite Nat.log2_up_pow2 in L by lia. exact L.
Qed.

(** Eight ranks and seven chunks, round by round: chunk, from, to. *)
Example eight_ranks : map (map (fun t => (what t, src t, dst t))) (firstn 5 (stragglar 3 7)) =
  [ [(0, 7, 0); (0, 0, 7)];
    [(1, 7, 1); (1, 1, 7); (0, 0, 4)];
    [(2, 7, 2); (2, 2, 7); (1, 1, 5); (0, 0, 6); (0, 4, 3)];
    [(3, 7, 3); (3, 3, 7); (2, 2, 6); (1, 1, 0); (0, 0, 1); (0, 6, 2); (1, 5, 4); (0, 4, 5)];
    [(4, 7, 4); (4, 4, 7); (3, 3, 0); (2, 2, 1); (1, 1, 2); (1, 0, 3); (2, 6, 5); (1, 5, 6)] ].
Proof. vm_compute. reflexivity. Qed.
