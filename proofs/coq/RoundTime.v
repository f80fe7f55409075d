(** What a schedule in rounds over a topology takes, by SPEC 3.2 and 3.3, and how it goes round
    by round, under the model rounds: as rounds of the form that Round.v has. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Spread Combine Timed Schedule Passing Bounds Replay InRounds.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Notation arrival := (arrival j).

(** ** Time in rounds: SPEC 3.2, 3.3 *)

Section Schedule.
Variable sch : list sent.
Definition sent_in (r : nat) : list sent := filter (fun t => begins (data t) =? Z.of_nat r) sch.
Definition greatest {A} (f : A -> Z) (l : list A) : Z := fold_right (fun x m => Z.max (f x) m) 0 l.
(** A round lasts as long as its longest transfer. *)
Definition round_lasts (r : nat) : Z := greatest (fun t => duration j (size j (what (tr (data t)))) (route t)) (sent_in r).
(** It waits for the ranks in it. *)
Definition round_waits (r : nat) : Z :=
  greatest (fun t => greatest (fun v => if is_rank j v then arrival v else 0) (visited j (src (tr (data t))) (route t))) (sent_in r).
Fixpoint rounds_end (r : nat) : Z :=
  match r with
  | O => 0
  | S r => match sent_in r with
           | [] => rounds_end r
           | _ => Z.max (rounds_end r) (round_waits r) + round_lasts r
           end
  end.
Definition how_many : nat := Z.to_nat (makespan sch).
Definition round_makespan : Z := rounds_end how_many.

Definition round_of (r : nat) : round := map (fun t => tr (data t)) (sent_in r).
Definition rounds_from (r n : nat) : schedule := map round_of (seq r n).

Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j false sch.

Lemma one_use (f : sent -> bool) (ls : list nat) (r : nat) :
  In (ls, 1%nat) (ports (ported j false)) ->
  (forall t, In t sch -> begins (data t) = Z.of_nat r -> f t = true -> exists i, In i (route t) /\ In i ls) ->
  (length (filter f (sent_in r)) <= 1)%nat.
Proof.
  intros Hp Hf. destruct good as [W [_ [P _]]]. specialize (P ls 1%nat Hp (Z.of_nat r)).
  eapply Nat.le_trans; [|exact P]. unfold round_uses, sent_in. clear P Hp.
  assert (I : incl sch sch) by apply incl_refl. revert I. generalize sch at 1 3 4. intros l I.
  induction l as [|t l IH]; simpl; auto. specialize (IH (fun x Hx => I x (or_intror Hx))).
  rewrite filter_app, app_length. destruct (Z.eqb_spec (begins (data t)) (Z.of_nat r)) as [E|]; simpl; [|lia].
  destruct (f t) eqn:Ef; simpl; [|lia].
  destruct (Hf t (I t (or_introl eq_refl)) E Ef) as [i [Hi Hl]].
  assert (Hin : In (i, Span (begins (data t)) 1) (filter (uses_at ls (Z.of_nat r)) (round_uses_of t))).
  { apply filter_In. split; [apply (in_map (fun i => (i, Span (begins (data t)) 1))), Hi|]. unfold uses_at. cbn [fst snd first long].
    rewrite E. apply andb_true_iff. split; [|apply Z.ltb_lt; lia]. apply andb_true_iff. split; [|apply Z.leb_le; lia].
    apply existsb_exists. exists i. split; auto. apply Nat.eqb_refl. }
  destruct (filter (uses_at ls (Z.of_nat r)) (round_uses_of t)); [destruct Hin|]. simpl. lia.
Qed.

Lemma in_rank_ports v : (v < nodes j)%nat ->
  In (links_of j (fun l => (Cut.src l =? v)%nat), 1%nat) (ports (ported j false)) /\
  In (links_of j (fun l => (Cut.dst l =? v)%nat), 1%nat) (ports (ported j false)).
Proof.
  intros Hv. simpl. split; apply in_or_app; right; unfold rank_ports; apply in_flat_map; exists v; (split; [apply in_seq; lia|]); simpl; auto.
Qed.
Lemma once_by (g : transfer -> nat) r :
  (forall t, In t sch -> (g (tr (data t)) < nodes j)%nat) ->
  (forall v, (v < nodes j)%nat -> (length (filter (fun t => (g (tr (data t)) =? v)%nat) (sent_in r)) <= 1)%nat) -> NoDup (map g (round_of r)).
Proof.
  intros Hk H. unfold round_of. rewrite map_map. 
  assert (K : forall t, In t (sent_in r) -> (g (tr (data t)) < nodes j)%nat) by (intros t Ht; apply filter_In in Ht; apply Hk, Ht).
  revert K H. induction (sent_in r) as [|t l IH]; simpl; intros K H; constructor.
  - intros Hi. apply in_map_iff in Hi. destruct Hi as [t' [E Ht']].
    specialize (H (g (tr (data t))) (K t (or_introl eq_refl))). rewrite Nat.eqb_refl in H. simpl in H.
    assert (In t' (filter (fun x => (g (tr (data x)) =? g (tr (data t)))%nat) l)) as F by (apply filter_In; split; auto; apply Nat.eqb_eq, E).
    destruct (filter _ l); [destruct F|simpl in H; lia].
  - apply IH; [auto|]. intros v Hv. specialize (H v Hv). destruct (g (tr (data t)) =? v)%nat; simpl in H; lia.
Qed.
Lemma route_ends t : In t sch -> (exists i, In i (route t) /\ In i (links_of j (fun l => (Cut.src l =? src (tr (data t)))%nat))) /\
  (exists i, In i (route t) /\ In i (links_of j (fun l => (Cut.dst l =? dst (tr (data t)))%nat))).
Proof.
  intros Ht. destruct (proj1 good t Ht) as [[_ [_ [_ Hne]]] [Hl _]].
  destruct (leads_ends j _ _ _ Hl Hne) as [[i [Hi Ei]] [i' [Hi' Ei']]].
  split; [exists i|exists i']; (split; [assumption|]); apply in_some_links; try (eapply leads_in; eassumption); apply Nat.eqb_eq; assumption.
Qed.
Lemma sends_once r : NoDup (map src (round_of r)).
Proof.
  apply once_by; [intros t Ht; destruct (proj1 good t Ht) as [[_ [R _]] _]; exact R|]. intros v Hv.
  apply (one_use _ _ r (proj1 (in_rank_ports v Hv))). intros t Ht _ E. apply Nat.eqb_eq in E. subst v. apply route_ends, Ht.
Qed.
Lemma receives_once r : NoDup (map dst (round_of r)).
Proof.
  apply once_by; [intros t Ht; destruct (proj1 good t Ht) as [[_ [_ [R _]]] _]; exact R|]. intros v Hv.
  apply (one_use _ _ r (proj2 (in_rank_ports v Hv))). intros t Ht _ E. apply Nat.eqb_eq in E. subst v. apply route_ends, Ht.
Qed.

(** An execution goes round by round. *)
Section Execution.
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.
Lemma round_step r : step (H (Z.of_nat r)) (round_of r) (H (Z.of_nat (S r))).
Proof.
  assert (Ws : forall v k, filter (into v k (Z.of_nat (S r))) (map data sch) =
     map data (filter (fun t => same_slot (slot (tr (data t))) (v, k)) (sent_in r))).
  { intros v k. unfold sent_in. assert (W : forall t, In t sch -> ends (data t) = begins (data t) + 1).
    { intros t Ht. destruct (proj1 good t Ht) as [_ [_ [_ [_ [E _]]]]]. exact E. }
    revert W. generalize sch. intros l W. induction l as [|t l IH]; [reflexivity|]. specialize (IH (fun x Hx => W x (or_intror Hx))).
    cbn [map filter]. unfold into at 1. rewrite (W t (or_introl eq_refl)). replace (begins (data t) + 1 =? Z.of_nat (S r)) with (begins (data t) =? Z.of_nat r)
      by (destruct (Z.eqb_spec (begins (data t)) (Z.of_nat r)), (Z.eqb_spec (begins (data t) + 1) (Z.of_nat (S r))); auto; lia).
    destruct (begins (data t) =? Z.of_nat r); [|rewrite andb_false_r; exact IH].
    rewrite andb_true_r. cbn [filter]. destruct (same_slot _ _); cbn [map]; rewrite IH; reflexivity. }
  assert (Prev : Z.of_nat (S r) - 1 = Z.of_nat r) by lia.
  split.
  - intros t Ht. unfold round_of in Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]].
    destruct (proj2 exec (Z.of_nat (S r)) (dst (tr (data s))) (what (tr (data s))) ltac:(lia)) as [A [_ C]].
    rewrite Ws in A, C. rewrite Prev in A. set (ws := filter _ (sent_in r)) in *.
    assert (In s ws) as Hin by (apply filter_In; split; auto; apply same_slot_spec; reflexivity).
    assert (L : (length ws <= 1)%nat).
    { apply Nat.le_trans with (length (filter (fun t => (dst (tr (data t)) =? dst (tr (data s)))%nat) (sent_in r))).
      - unfold ws. apply filter_le. intros t _ E. apply same_slot_spec in E. injection E as -> _. apply Nat.eqb_refl.
      - assert (Hs' : In s sch) by (apply filter_In in Hs; apply Hs).
        assert (R : (dst (tr (data s)) < nodes j)%nat) by (destruct (proj1 good s Hs') as [[_ [_ [R _]]] _]; exact R).
        apply (one_use _ _ r (proj2 (in_rank_ports _ R))). intros t Ht _ E. apply Nat.eqb_eq in E. rewrite <- E. apply route_ends, Ht. }
    destruct ws as [|s1 [|s2 ws']]; [destruct Hin| |simpl in L; lia]. destruct Hin as [->|[]].
    assert (D : H (Z.of_nat (S r)) (dst (tr (data s))) (what (tr (data s))) <> None) by (apply C; discriminate).
    destruct (H (Z.of_nat (S r)) (dst (tr (data s))) (what (tr (data s)))) as [w|] eqn:E; [|congruence].
    exists w. split; auto. cbn [map fold_left] in A. unfold after in A. symmetry in A.
    assert (B : begins (data s) = Z.of_nat r) by (apply filter_In in Hs; destruct Hs as [_ Hs]; apply Z.eqb_eq, Hs).
    rewrite B in A. unfold written, put in *. destruct (op (tr (data s))); exact A.
  - intros v k Hn. destruct (proj2 exec (Z.of_nat (S r)) v k ltac:(lia)) as [A _]. rewrite Ws, Prev in A.
    replace (filter (fun t => same_slot (slot (tr (data t))) (v, k)) (sent_in r)) with (@nil sent) in A; [exact A|].
    symmetry. unfold round_of in Hn. rewrite map_map in Hn. clear - Hn. induction (sent_in r) as [|t l IH]; simpl in *; auto.
    destruct (same_slot (slot (tr (data t))) (v, k)) eqn:E; [apply same_slot_spec in E; tauto|apply IH; tauto].
Qed.
Lemma rounds_run n : forall r, runs (H (Z.of_nat r)) (rounds_from r n) (H (Z.of_nat (r + n))).
Proof.
  induction n as [|n IH]; intros r.
  - rewrite Nat.add_0_r. constructor. auto.
  - unfold rounds_from. cbn [seq map]. apply runs_round with (H (Z.of_nat (S r))); [apply round_step|].
    replace (r + S n)%nat with (S r + n)%nat by lia. apply IH.
Qed.
End Execution.

(** ** How long a round lasts at least *)

Definition least_hop (b : Z) : Z :=
  Z.max 0 (least (map (fun l => latency l + onward j (Cut.dst l) + beta l b) (filter (fun l => is_rank j (Cut.src l)) (links j)))).
Definition least_size : Z := least (sizes j).
Hypothesis wells : forall t, In t sch -> round_well j false t.
Lemma hop_lasts_of t a : In t sch -> 0 <= a <= size j (what (tr (data t))) -> least_hop a <= duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros Ht [Ha Hb]. destruct (wells t Ht) as [[Rk [Ru [Rv Hne]]] [Hl _]]. set (b := size j (what (tr (data t)))).
  fold b in Hb.
  assert (Ev : is_rank j (dst (tr (data t))) = true) by (apply Nat.ltb_lt, Rv).
  assert (Eu : is_rank j (src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru).
  destruct (hops_chain j _ _ _ Hl Ev) as [Ch Hd]. unfold duration. destruct (hops j (route t)) as [|[|i h] hs].
  - rewrite Hd in Hl. simpl in Hl. congruence.
  - destruct Hd.
  - destruct Hd as [Hi Hs]. cbn [sum fold_right]. change (fold_right ?f 0 hs) with (lasting j b hs).
    pose proof (lasting_0 j sane b hs). pose proof (slowest_ge j b (i :: h) i (or_introl eq_refl)) as Sl.
    pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_mono (at_link i) _ _ Lb Hb).
    assert (On : onward j (Cut.dst (at_link i)) <= latencies j h).
    { specialize (Ch (i :: h) (or_introl eq_refl)). destruct Ch as [C _]. destruct h as [|i' h'].
      - unfold onward. rewrite C. unfold latencies. simpl. lia.
      - destruct C as [Hi' Hs']. pose proof (onward_le j sane _ i' Hi' Hs'). pose proof (latencies_0 j sane h').
        unfold latencies in *. simpl. lia. }
    assert (least_hop a <= latency (at_link i) + onward j (Cut.dst (at_link i)) + beta (at_link i) a).
    { unfold least_hop. apply Z.max_lub.
      - pose proof (beta_0 (at_link i) a Lb Ha).
        assert (0 <= onward j (Cut.dst (at_link i))); [|lia]. unfold onward. destruct (is_rank j (Cut.dst (at_link i))); [lia|].
        assert (G : forall l, (forall x, In x l -> 0 <= x) -> match l with [] => 0 | x :: l => fold_right Z.min x l end >= 0).
        { clear. destruct l as [|x l]; [lia|]. intros H. assert (0 <= x) by (apply H; left; auto). induction l as [|y l IH]; simpl; [lia|].
          assert (0 <= y) by (apply H; right; left; auto). specialize (IH (fun z Hz => H z (match Hz with or_introl e => or_introl e | or_intror e => or_intror (or_intror e) end))). lia. }
        specialize (G (map latency (filter (fun l => (Cut.src l =? Cut.dst (at_link i))%nat) (links j)))).
        enough (match map latency (filter (fun l => (Cut.src l =? Cut.dst (at_link i))%nat) (links j)) with [] => 0 | x :: l => fold_right Z.min x l end >= 0) by lia.
        apply G. intros x Hx. apply in_map_iff in Hx. destruct Hx as [l [<- Hx]]. apply filter_In in Hx. apply (proj1 sane l (proj1 Hx)).
      - apply least_le. apply (in_map (fun l => latency l + onward j (Cut.dst l) + beta l a)). apply filter_In.
        split; [apply nth_In, Hi|]. rewrite Hs. exact Eu. }
    unfold latencies in *. simpl. unfold sum in *. lia.
Qed.
Lemma least_size_0 : 0 <= least_size.
Proof.
  unfold least_size. destruct (sizes j) as [|s l] eqn:Es; [simpl; lia|]. pose proof (proj2 sane) as P. rewrite Es in P. simpl.
  assert (0 <= s) by (apply P; left; auto). clear Es. induction l as [|x l IH]; simpl; auto.
  assert (0 <= x) by (apply P; right; left; auto). specialize (IH (fun y Hy => P y (match Hy with or_introl e => or_introl e | or_intror e => or_intror (or_intror e) end))). lia.
Qed.
Lemma hop_lasts t : In t sch -> least_hop least_size <= duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros Ht. apply hop_lasts_of; auto. split; [apply least_size_0|]. apply least_le, nth_In. destruct (wells t Ht) as [[Rk _] _]. exact Rk.
Qed.
Lemma greatest_ge {A} (f : A -> Z) l x : In x l -> f x <= greatest f l.
Proof. induction l as [|a l IH]; simpl; [tauto|]. intros [->|H]; [lia|]. specialize (IH H). unfold greatest in *. lia. Qed.
Lemma greatest_0 {A} (f : A -> Z) l : 0 <= greatest f l.
Proof. induction l as [|a l IH]; simpl; [lia|]. unfold greatest in *. lia. Qed.
Lemma rounds_last n : forall r, rounds_end r + Z.of_nat (rounds (rounds_from r n)) * least_hop least_size <= rounds_end (r + n).
Proof.
  induction n as [|n IH]; intros r; [rewrite Nat.add_0_r; simpl; lia|].
  specialize (IH (S r)). replace (r + S n)%nat with (S r + n)%nat by lia. eapply Z.le_trans; [|exact IH].
  unfold rounds_from. cbn [seq map]. unfold rounds at 1. cbn [filter]. fold (rounds (map round_of (seq (S r) n))). 
  change (map round_of (seq (S r) n)) with (rounds_from (S r) n).
  assert (E : rounds_end (S r) = match sent_in r with [] => rounds_end r | _ => Z.max (rounds_end r) (round_waits r) + round_lasts r end) by reflexivity.
  unfold round_of at 1. destruct (sent_in r) as [|t l] eqn:Es; cbn [map moves].
  - rewrite E. fold (rounds (rounds_from (S r) n)). lia.
  - rewrite E. cbn [length]. fold (rounds (rounds_from (S r) n)).
    assert (least_hop least_size <= round_lasts r).
    { assert (In t (sent_in r)) as Ht by (rewrite Es; left; auto). eapply Z.le_trans; [apply (hop_lasts t)|].
      - apply filter_In in Ht. apply Ht.
      - unfold round_lasts. apply (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t))), Ht. }
    rewrite Nat2Z.inj_succ. lia.
Qed.
Lemma goal_at_end H : execution (lookup (pre j)) (map data sch) H -> (forall v k w, In ((v, k), w) (post j) ->
      exists got, H (makespan sch) v k = Some got /\ agrees j got w) ->
  forall v k w, In ((v, k), w) (post j) -> exists got, H (Z.of_nat (0 + how_many)) v k = Some got /\ agrees j got w.
Proof. intros _ G v k w Hin. unfold how_many. rewrite Nat.add_0_l, Z2Nat.id by apply makespan_0. apply G, Hin. Qed.
End Schedule.

End Job.
