(** From when on a link can carry anything, and until when: no hop begins before what it takes
    can have come from where something is at the start, and none ends at a rank before the
    latencies from the link's end. Found by relaxation, which nobody trusts, and checked. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds InRounds Copying Adding Loose Coverage Cover.
Import ListNotations.
Open Scope Z_scope.

(** By link: no earlier than this, and so long before the end. *)
Record lanes := Lanes { since_of : list Z; tail_of : list Z }.
Definition from_when (w : lanes) (i : nat) : Z := nth i (since_of w) 0.
Definition until_when (w : lanes) (i : nat) : Z := nth i (tail_of w) 0.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

(** What holds of every transfer of a chunk of [b] bytes or more. *)
Definition lanes_hold (w : lanes) (b : Z) (occ : sent -> list use) (sch : list sent) : Prop :=
  forall t i sp, In t sch -> In (i, sp) (occ t) -> b <= size j (what (tr (data t))) ->
    from_when w i <= first sp /\ first sp + long sp + until_when w i <= ends (data t).

(** From all ranks at which something is at the start. *)
Definition find_full (b : Z) : list Z * list Z :=
  let ls := links j in
  let start := fold_left (fun p e => lower p (fst (fst e)) (Z.max 0 (arrival j (fst (fst e))))) (pre j) (nowhere j) in
  until_still (fun p q => same_times (fst p) (fst q) && same_times (snd p) (snd q))
    (fun p => fold_left (fun p l => relax j (arrival j) b l p) ls p) (2 * size_of_net j) (start, nowhere j).
Definition all_links : list nat := seq 0 (length (links j)).
Definition ends_of (i : nat) : list nat := let y := Cut.dst (at_link i) in if is_rank j y then [y] else ranks_of j.
(** [tb]: by node, when what is taken can be there. *)
Definition lanes_by (tb : list Z * list Z) (b : Z) : lanes :=
  let leads := map (lead_from j (fun _ => true)) (seq 0 (size_of_net j)) in
  let ok := (0 <=? b) && forallb (rises_well j (arrival j) (fst tb) (snd tb) b) (links j) &&
    forallb (fun u => lead_ok j (fun _ => true) u (nth u leads [])) (seq 0 (size_of_net j)) in
  if ok then
    Lanes
      (map (fun i => Z.max (since j i) (least (map (fun u => Z.max (potential (fst tb) u) (due j (Cut.dst (at_link i))) +
        potential (nth u leads []) (Cut.src (at_link i))) (starts_of j i)))) all_links)
      (map (fun i => Z.max (tail j i) (rest j true i + least (map (fun z => potential (nth (Cut.dst (at_link i)) leads []) z) (ends_of i)))) all_links)
  else Lanes (map (since j) all_links) (map (tail j) all_links).
Definition find_lanes (b : Z) : lanes :=
  let tb := find_full b in
  if (0 <=? b) && forallb (rises_well j (arrival j) (fst tb) (snd tb) b) (links j) &&
     forallb (fun e => potential (fst tb) (fst (fst e)) <=? arrival j (fst (fst e))) (pre j)
  then lanes_by tb b else Lanes (map (since j) all_links) (map (tail j) all_links).

Lemma at_place (f : nat -> Z) i : (i < length (links j))%nat -> nth i (map f all_links) 0 = f i.
Proof.
  intros H. unfold all_links. rewrite (nth_indep _ 0 (f O)) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H. reflexivity.
Qed.

(** Another job on the same network, of which all that is somewhere at the start is there in [j], too. *)
Variable sizes' : list Z.
Variables pre' post' : list (nat * nat * value).
Notation j' := (Job (nodes j) (links j) (ports j) (model j) (release j) sizes' (idempotent j) pre' post').
Hypothesis starts : forall u k x, In ((u, k), x) pre' -> exists k', In ((u, k'), x) (pre j).

Theorem lanes_by_hold tb net b occ sch : positive j' -> loose j' net occ sch ->
  forall t i sp, In t sch -> In (i, sp) (occ t) -> b <= size j' (what (tr (data t))) -> potential (fst tb) (src (tr (data t))) <= begins (data t) ->
    from_when (lanes_by tb b) i <= first sp /\ first sp + long sp + until_when (lanes_by tb b) i <= ends (data t).
Proof.
  intros sane good t i sp Ht Hin Hb Fu. pose proof (are_inside j' net sane occ sch good t i sp Ht Hin) as [I1 [_ I2]].
  assert (Hi : (i < length (links j'))%nat).
  { apply (in_route j' net occ sch good t i Ht). rewrite <- (keep_links _ _ _ _ good t Ht). apply (in_map fst _ _ Hin). }
  assert (Plain : since j i <= first sp /\ first sp + long sp + tail j i <= ends (data t)).
  { change (since j' i <= first sp /\ first sp + long sp + tail j' i <= ends (data t)). lia. }
  unfold lanes_by, from_when, until_when. set (leads := map (lead_from j (fun _ => true)) (seq 0 (size_of_net j))).
  destruct (_ && _) eqn:Ok; cbn [since_of tail_of]; rewrite !at_place by exact Hi; [|exact Plain].
  rewrite !andb_true_iff, Z.leb_le, !forallb_forall in Ok. destruct Ok as [[B0 Hrise] Hlead].
  assert (Lead : forall u, (u < size_of_net j)%nat -> lead_ok j' (fun _ => true) u (nth u leads []) = true).
  { intros u Hu. apply Hlead, in_seq. lia. }
  assert (Net : (nodes j <= size_of_net j)%nat /\ (Cut.dst (at_link i) < size_of_net j)%nat).
  { unfold size_of_net. assert (G : forall ls, (nodes j <= fold_right (fun l n => Nat.max (S (Cut.src l)) (Nat.max (S (Cut.dst l)) n)) (nodes j) ls)%nat /\
      forall l, In l ls -> (Cut.dst l < fold_right (fun l n => Nat.max (S (Cut.src l)) (Nat.max (S (Cut.dst l)) n)) (nodes j) ls)%nat).
    { induction ls as [|l ls [A B]]; cbn [fold_right]; split; try lia; [intros l []|]. intros l' [<-|Hl]; [lia|]. specialize (B l' Hl). lia. }
    split; [apply G|]. apply (proj2 (G (links j))). apply nth_In, Hi. }
  assert (Fl : exists f, In f (flights_of j' t) /\ fst (hop_use f) = i).
  { destruct (keep_pace _ _ _ _ good t i sp Ht Hin) as [sp0 [H0 _]]. rewrite <- (flights_are_uses j' t) in H0. apply in_map_iff in H0.
    destruct H0 as [f [E Hf]]. exists f. rewrite E. auto. }
  destruct Fl as [f [Hf Ei]].
  assert (En : is_entry j' occ sch (Entry t f sp)).
  { destruct (flight_occupies j' net occ sch good t f Ht Hf) as [sp' En]. pose proof En as [_ [_ [O _]]]. unfold of_link in O. cbn [flown busy of_sent] in O.
    rewrite Ei in O. enough (sp' = sp) by (subst sp'; exact En).
    assert (N : NoDup (map fst (occ t))) by (rewrite (keep_links _ _ _ _ good t Ht); apply (have_routes _ _ _ _ good t Ht)).
    clear - O Hin N. induction (occ t) as [|a l IH]; [destruct Hin|]. cbn [map] in N. inversion N as [|? ? Hn N']; subst.
    destruct O as [O|O], Hin as [Q|Q]; [congruence| | |auto]; exfalso; apply Hn; subst a; cbn [fst]; [apply (in_map fst _ _ Q)|apply (in_map fst _ _ O)]. }
  destruct (flight_ends j' net occ sch good t f Ht Hf) as [F1 [F2 [_ [F4 [F5 [_ [_ [F8 _]]]]]]]]. rewrite Ei in F4, F5.
  split.
  - apply Z.max_lub; [apply Plain|].
    assert (P := begins_after j' sane b (fun u => nth u leads []) B0 (fun u Hu => Lead u (Nat.lt_le_trans _ _ _ Hu (proj1 Net))) net occ sch good
      (fst tb) (snd tb) (Entry t f sp) Hrise En Hb Fu).
    unfold of_link, begin_of in P. cbn [flown busy] in P. rewrite Ei in P. eapply Z.le_trans; [|exact P]. apply least_le.
    apply (in_map (fun u => Z.max (potential (fst tb) u) (due j (Cut.dst (at_link i))) + potential (nth u leads []) (Cut.src (at_link i)))).
    apply starts_in. split; [exact F1|exact F4].
  - enough (first sp + long sp + (rest j true i + least (map (fun z => potential (nth (Cut.dst (at_link i)) leads []) z) (ends_of i))) <= ends (data t)) by lia.
    assert (P := ends_after j' sane net occ sch good (nth (Cut.dst (at_link i)) leads []) (Entry t f sp) En).
    unfold of_link, begin_of in P. cbn [flown busy of_sent] in P. rewrite Ei in P. specialize (P (Lead _ (proj2 Net))).
    assert (Lo : long sp = hop_slow f + beside j' i).
    { destruct En as [_ [_ [_ [Lo _]]]]. cbn [busy flown] in Lo. rewrite F8, Ei in Lo. exact Lo. }
    assert (Le : least (map (fun z => potential (nth (Cut.dst (at_link i)) leads []) z) (ends_of i)) <= potential (nth (Cut.dst (at_link i)) leads []) (hop_to f)).
    { apply least_le. apply (in_map (fun z => potential (nth (Cut.dst (at_link i)) leads []) z)). unfold ends_of.
      destruct (is_rank j (Cut.dst (at_link i))) eqn:Er; [left; symmetry; apply F5; exact Er|apply in_seq; split; [lia|exact F2]]. }
    unfold rest. change (beside j i) with (beside j' i). change (at_link i) with (Schedule.at_link j' i) in *. lia.
Qed.
Theorem find_lanes_hold net b occ sch : positive j' -> loose j' net occ sch ->
  forall t i sp, In t sch -> In (i, sp) (occ t) -> b <= size j' (what (tr (data t))) ->
    from_when (find_lanes b) i <= first sp /\ first sp + long sp + until_when (find_lanes b) i <= ends (data t).
Proof.
  intros sane good t i sp Ht Hin Hb. unfold find_lanes. set (tb := find_full b). destruct (_ && _) eqn:Ok.
  - rewrite !andb_true_iff, Z.leb_le, !forallb_forall in Ok. destruct Ok as [[B0 Hrise] Hpre].
    apply (lanes_by_hold tb net b occ sch sane good t i sp Ht Hin Hb).
    pose proof (there_rises j' net sane occ sch good (fst tb) (snd tb) (what (tr (data t))) _ eq_refl
      (fun l H' => rises_more j' _ _ _ b _ l (proj2 (proj1 sane l H')) Hb (Hrise l H'))) as P.
    specialize (P (fun u x Hx => let (k', Hk) := starts u _ x Hx in proj1 (Z.leb_le _ _) (Hpre _ Hk)) _ _ (reads _ _ _ _ good t Ht)).
    destruct (are_transfers _ _ _ _ good _ Ht) as [_ [Ru _]]. apply Nat.ltb_lt in Ru.
    pose proof (wait_for_ranks _ _ _ _ good _ Ht _ (or_introl eq_refl) Ru). lia.
  - assert (Hi : (i < length (links j'))%nat).
    { apply (in_route j' net occ sch good t i Ht). rewrite <- (keep_links _ _ _ _ good t Ht). apply (in_map fst _ _ Hin). }
    pose proof (are_inside j' net sane occ sch good t i sp Ht Hin) as [I1 [_ I2]].
    unfold from_when, until_when. cbn [since_of tail_of]. rewrite !at_place by exact Hi.
    change (since j' i <= first sp /\ first sp + long sp + tail j' i <= ends (data t)). lia.
Qed.
End Job.
