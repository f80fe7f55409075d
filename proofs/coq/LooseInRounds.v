(** Bounds in rounds where switches copy or add, and under link-rounds: let each transfer begin
    with its round, and last as long as it must. Then links and times have what the rules of
    Sharing and Late need, and the last transfer ends no later than the last round. Left out:
    chunks of no bytes; that a rank sends once and receives once in a round. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Free Partition Sharing Prices RoundTime RoundsInTime.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Variable net : network.
Hypothesis sane : positive j.
Hypothesis full : forall b, In b (sizes j) -> 0 < b.
Variable sch : list sent.
Notation at_link := (at_link j).
Notation retime := (retime j sch).
Notation in_time := (in_time j sch).
Notation rnd := RoundsInTime.rnd.
Notation rounds_end := (rounds_end j sch).

(** What a right schedule in rounds has, whatever its switches do. *)
Record stepwise : Prop := {
  step_transfers : forall t, In t sch -> let x := tr (data t) in
    ((what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x) /\
    leads j (src x) (route t) (dst x) /\ NoDup (route t) /\ 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1;
  step_links : forall t t' i, In t sch -> In t' sch -> t <> t' -> begins (data t) = begins (data t') ->
    In i (route t) -> In i (route t') -> share j net t t' i;
  step_data : executes j sch }.
Hypothesis good : stepwise.

Lemma round_of t : In t sch -> begins (data t) = Z.of_nat (rnd t) /\ ends (data t) = Z.of_nat (S (rnd t)).
Proof. intros Ht. destruct (step_transfers good t Ht) as [_ [_ [_ [A B]]]]. unfold RoundsInTime.rnd. lia. Qed.
Lemma at_its_round t : In t sch -> In t (sent_in sch (rnd t)).
Proof. intros Ht. apply filter_In. split; auto. apply Z.eqb_eq. apply (round_of t Ht). Qed.
Lemma lasts t : In t sch -> 0 < dur j t.
Proof.
  intros Ht. destruct (step_transfers good t Ht) as [[Rk [_ [_ Hne]]] [Hl _]]. unfold dur, duration.
  change (sum _ (hops j (route t))) with (lasting j (size j (what (tr (data t)))) (hops j (route t))). set (b := size j (what (tr (data t)))).
  assert (Hb : 0 < b) by (apply full, nth_In, Rk).
  destruct (route t) as [|i r] eqn:E; [simpl in Hl; congruence|].
  assert (L : forall hs, In i (concat hs) -> beta (at_link i) b <= lasting j b hs).
  { induction hs as [|h hs IH]; [intros []|]. cbn [concat]. intros Hi. apply in_app_or in Hi.
    pose proof (latencies_0 j sane h). pose proof (slowest_0 j b h). pose proof (lasting_0 j sane b hs). unfold lasting in *. cbn [sum fold_right].
    destruct Hi as [Hi|Hi]; [pose proof (slowest_ge j b h i Hi); unfold sum in *; lia|specialize (IH Hi); unfold sum in *; lia]. }
  specialize (L (hops j (i :: r))). rewrite concat_hops in L. specialize (L (or_introl eq_refl)).
  pose proof (beta_pos (at_link i) b (proj2 (sane_link j sane i)) Hb). lia.
Qed.
Lemma over t : In t sch -> go j sch (rnd t) + dur j t <= rounds_end (S (rnd t)).
Proof.
  intros Ht. pose proof (at_its_round t Ht) as Hin. cbn [RoundTime.rounds_end]. unfold go, dur.
  pose proof (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t)) _ t Hin) as L. cbn beta in L. fold (round_lasts j sch (rnd t)) in L.
  destruct (sent_in sch (rnd t)); [destruct Hin|]. lia.
Qed.
Lemma go_0 r : 0 <= rounds_end r <= go j sch r.
Proof. pose proof (rounds_end_0 j sch r). unfold go. lia. Qed.
Lemma ranks_are_there t v : In t sch -> In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true -> arrival j v <= go j sch (rnd t).
Proof.
  intros Ht Hv Hr. apply Z.le_trans with (round_waits j sch (rnd t)); [|unfold go; lia].
  eapply Z.le_trans; [|apply (greatest_ge (fun t => greatest (fun v => if is_rank j v then arrival j v else 0) (visited j (src (tr (data t))) (route t))) _ t (at_its_round t Ht))].
  eapply Z.le_trans; [|apply (greatest_ge (fun v => if is_rank j v then arrival j v else 0) _ v Hv)]. rewrite Hr. lia.
Qed.
Lemma inside t i sp : In t sch -> In (i, sp) (uses_of j (retime t)) -> since j i <= go j sch (rnd t) <= first sp /\
  takes j (size j (what (tr (data t)))) i <= long sp /\ first sp + long sp + tail j i <= go j sch (rnd t) + dur j t.
Proof.
  intros Ht Hin. destruct (step_transfers good t Ht) as [[_ [_ [Rv _]]] [Hl _]].
  destruct (inside_of j (retime t) sane Hl Rv (fun v Hv Hr => ranks_are_there t v Ht Hv Hr) ltac:(cbn; pose proof (go_0 (rnd t)); lia) i sp Hin) as [A [B C]].
  split; [exact A|]. split; [exact B|]. exact C.
Qed.
Lemma tail_0 i : 0 <= tail j i /\ 0 <= takes j (size j 0) i - beta (at_link i) (size j 0).
Proof.
  pose proof (onward_0 j sane (Cut.dst (at_link i))). pose proof (sane_link j sane i). unfold tail, takes, beside. destruct (model j); lia.
Qed.
Lemma within_round t i sp : In t sch -> In (i, sp) (uses_of j (retime t)) -> rounds_end (rnd t) <= first sp /\ 0 < long sp /\ first sp + long sp <= rounds_end (S (rnd t)).
Proof.
  intros Ht Hin. destruct (inside t i sp Ht Hin) as [A [B C]]. pose proof (over t Ht). pose proof (go_0 (rnd t)). pose proof (tail_0 i).
  destruct (step_transfers good t Ht) as [[Rk _] _]. pose proof (beta_pos (at_link i) (size j (what (tr (data t)))) (proj2 (sane_link j sane i)) (full _ (nth_In _ _ Rk))).
  unfold takes in *. lia.
Qed.
(** No more links of a port are busy at an instant than in its round. *)
Lemma once_in_time ps : ports_once ps (round_uses sch) -> ports_once ps (uses j in_time).
Proof.
  intros P ls c Hp x. unfold busy_links. destruct (filter (uses_at ls x) (uses j in_time)) as [|a l] eqn:Ef; [simpl; lia|]. rewrite <- Ef.
  assert (At : forall b, In b (filter (uses_at ls x) (uses j in_time)) -> exists t, In t sch /\ In (fst b) (route t) /\ In (fst b) ls /\
     rounds_end (rnd t) <= x < rounds_end (S (rnd t))).
  { intros [i sp] Hb. apply filter_In in Hb. destruct Hb as [Hb Hx]. apply in_flat_map in Hb. destruct Hb as [t' [Ht Hb]].
    apply in_map_iff in Ht. destruct Ht as [t [<- Ht]]. exists t. destruct (within_round t i sp Ht Hb) as [A [B C]].
    unfold uses_at in Hx. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Hx. cbn [fst snd] in *. destruct Hx as [[Hx X1] X2].
    apply existsb_exists in Hx. destruct Hx as [i' [Hx E]]. apply Nat.eqb_eq in E. subst i'.
    split; [exact Ht|]. split; [|split; [exact Hx|lia]]. apply (in_map fst) in Hb. rewrite uses_of_route in Hb. exact Hb. }
  destruct (At a ltac:(rewrite Ef; left; auto)) as [t0 [_ [_ [_ X0]]]].
  eapply Nat.le_trans; [|apply (P ls c Hp (Z.of_nat (rnd t0)))]. apply NoDup_incl_length; [apply NoDup_nodup|].
  intros i Hi. apply nodup_In, in_map_iff in Hi. destruct Hi as [b [<- Hb]]. destruct (At b Hb) as [t [Ht [Hr [Hl X]]]].
  assert (E : rnd t = rnd t0).
  { destruct (Nat.lt_trichotomy (rnd t) (rnd t0)) as [Q|[Q|Q]]; auto.
    - pose proof (rounds_end_mono j sch (S (rnd t)) (rnd t0) Q). lia.
    - pose proof (rounds_end_mono j sch (S (rnd t0)) (rnd t) Q). lia. }
  apply nodup_In, in_map_iff. exists (fst b, Span (begins (data t)) 1). split; [reflexivity|]. apply filter_In. split.
  - apply in_flat_map. exists t. split; auto. apply (in_map (fun i => (i, Span (begins (data t)) 1))), Hr.
  - unfold uses_at. cbn [fst snd first long]. destruct (round_of t Ht) as [B _]. rewrite B, E.
    rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. repeat split; try lia. apply existsb_exists. exists (fst b). split; auto. apply Nat.eqb_refl.
Qed.
Lemma came c v k x : holds j (map data sch) c v k x -> forall r, x = Z.of_nat r -> holds j (map data in_time) c v k (rounds_end r).
Proof.
  induction 1 as [v k x w Hl Hc Hx|t x Ht _ IH Hx]; intros r ->.
  - eapply holds_start; eauto. apply rounds_end_0.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct (round_of s Hs) as [B E]. specialize (IH (rnd s) B).
    change (tr (data s)) with (tr (data (retime s))). apply holds_sent.
    + apply in_map. apply in_map, Hs.
    + eapply holds_later; [exact IH|]. cbn [data retime begins]. apply go_0.
    + cbn [data retime ends]. eapply Z.le_trans; [apply over, Hs|]. apply rounds_end_mono. lia.
Qed.
Lemma came_there v k x : there j (map data sch) v k x -> forall r, x = Z.of_nat r -> there j (map data in_time) v k (rounds_end r).
Proof.
  induction 1 as [v k x w Hl Hx|t x Ht _ IH Hx]; intros r ->.
  - eapply there_start; eauto. apply rounds_end_0.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct (round_of s Hs) as [B E]. specialize (IH (rnd s) B).
    change (tr (data s)) with (tr (data (retime s))). apply there_sent.
    + apply in_map. apply in_map, Hs.
    + eapply there_later; [exact IH|]. cbn [data retime begins]. apply go_0.
    + cbn [data retime ends]. eapply Z.le_trans; [apply over, Hs|]. apply rounds_end_mono. lia.
Qed.
Lemma by_the_end c v k x : holds j (map data in_time) c v k x -> holds j (map data in_time) c v k (makespan in_time).
Proof.
  intros H. inversion H as [v' k' x' w Hl Hc Hx|t x' Ht Hh Hx]; subst.
  - eapply holds_start; eauto. apply makespan_0.
  - apply holds_sent; auto. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply ends_makespan, Hs.
Qed.

Theorem stepwise_loose : loose j net (uses_of j) in_time /\ makespan in_time <= round_makespan j sch.
Proof.
  split.
  - constructor.
    + intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (step_transfers good s Hs).
    + intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct (step_transfers good s Hs) as [_ [A [B _]]]. split; [exact A|exact B].
    + intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. pose proof (lasts s Hs). pose proof (go_0 (rnd s)). cbn [data retime begins ends tr route].
      unfold dur in *. lia.
    + intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. intros v. apply (ranks_are_there s v Hs).
    + intros t _. apply uses_of_route.
    + intros t i sp Ht Hin. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. exists sp. cbn [data retime begins ends tr route]. unfold dur.
      repeat split; auto; lia.
    + intros t t' [i sp] [i' sp'] Ht Ht' Hne Ha Hb E. cbn [fst snd] in *. subst i'.
      apply in_map_iff in Ht, Ht'. destruct Ht as [s [<- Hs]], Ht' as [s' [<- Hs']].
      assert (Hss : s <> s') by congruence. pose proof (within_round s i sp Hs Ha) as [A1 [A2 A3]]. pose proof (within_round s' i sp' Hs' Hb) as [B1 [B2 B3]].
      destruct (Nat.lt_trichotomy (rnd s) (rnd s')) as [Q|[Q|Q]].
      * left. left. pose proof (rounds_end_mono j sch (S (rnd s)) (rnd s') Q). lia.
      * right. apply (step_links good s s' i); auto.
        -- destruct (round_of s Hs) as [-> _], (round_of s' Hs') as [-> _]. congruence.
        -- apply (in_map fst) in Ha. rewrite uses_of_route in Ha. exact Ha.
        -- apply (in_map fst) in Hb. rewrite uses_of_route in Hb. exact Hb.
      * left. right. pose proof (rounds_end_mono j sch (S (rnd s')) (rnd s) Q). lia.
    + intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct (round_of s Hs) as [B _].
      change (tr (data (retime s))) with (tr (data s)). apply (there_later j _ _ _ (rounds_end (rnd s))); [|cbn [data retime begins]; apply go_0]. apply came_there with (begins (data s)); [|exact B].
      apply (executed_reads j sch (step_data good)); auto. intros t Ht. destruct (step_transfers good t Ht) as [_ [_ [_ [X Y]]]]. lia.
    + intros v k w c Hin Hc. apply by_the_end with (rounds_end (Z.to_nat (makespan sch))). apply came with (makespan sch).
      * eapply (executed_bring j sch (step_data good)); eauto. intros t Ht. destruct (step_transfers good t Ht) as [_ [_ [_ [A B]]]]. lia.
      * rewrite Z2Nat.id; [reflexivity|apply makespan_0].
    + intros s Hs. destruct (executed_write j sch (step_data good) s Hs) as [t [Ht E]]. exists (retime t). split; [apply in_map, Ht|exact E].
  - assert (G : forall l, incl l sch -> makespan (map retime l) <= round_makespan j sch).
    { induction l as [|t l IH]; intros I; [apply rounds_end_0|]. cbn [map makespan fold_right]. apply Z.max_lub.
      - assert (Ht : In t sch) by (apply I; left; auto). cbn [data retime ends]. eapply Z.le_trans; [apply over, Ht|]. apply rounds_end_mono. unfold how_many.
        pose proof (ends_makespan sch t Ht). destruct (round_of t Ht) as [_ B]. lia.
      - apply IH. intros x Hx. apply I. right; auto. }
    apply G, incl_refl.
Qed.
End Job.

(** ** What is right goes step by step *)

Lemma round_uses_route t : map fst (round_uses_of t) = route t.
Proof. unfold round_uses_of. rewrite map_map. cbn [fst]. apply map_id. Qed.
Lemma in_round_uses t i : In i (route t) -> In (i, Span (begins (data t)) 1) (round_uses_of t).
Proof. apply (in_map (fun i => (i, Span (begins (data t)) 1))). Qed.
Lemma not_apart x y : x = y -> ~ apart (Span x 1) (Span y 1).
Proof. unfold apart. cbn [first long]. lia. Qed.

Theorem copying_steps j net by_link sch : right_copying_rounds j (copying net) by_link sch -> stepwise j net sch.
Proof.
  intros [W [D [_ X]]]. constructor; auto.
  - intros t Ht. destruct (W t Ht) as [A [B [C [Bg [En _]]]]]. split; [exact A|]. split; [exact B|]. split; [apply (passed_once j _ _ _ B C)|]. split; assumption.
  - intros t t' i Ht Ht' Hne E Hi Hi'.
    destruct (copies_apart j net sch round_uses_of D (fun t _ => round_uses_route t) t t' _ _ Ht Ht' Hne (in_round_uses t i Hi) (in_round_uses t' i Hi') eq_refl) as [A|A]; [|exact A].
    destruct (not_apart _ _ E A).
Qed.
Theorem adding_steps j net by_link sch : right_adding_rounds j net by_link sch -> stepwise j net sch.
Proof.
  intros [W [[S [_ _]] X]]. constructor; auto.
  - intros t Ht. destruct (W t Ht) as [A [[B [_ C]] [Bg [En _]]]]. split; [exact A|]. split; [exact B|]. split; [exact C|]. split; assumption.
  - intros t t' i Ht Ht' Hne E Hi Hi'. destruct (W t Ht) as [_ [[B _] _]].
    destruct (streams_apart j net round_uses_of sch S (fun t _ => round_uses_route t) t t' _ _ Ht Ht' Hne (in_round_uses t i Hi) (in_round_uses t' i Hi') eq_refl) as [A|A]; [|destruct (not_apart _ _ E A)|exact A].
    apply (leads_in j _ _ _ B), Hi.
Qed.
Theorem right_steps j net by_link sch : right_in_rounds j by_link sch -> stepwise j net sch.
Proof.
  intros [W [D [_ X]]]. constructor; auto.
  - intros t Ht. destruct (W t Ht) as [A [B [C [Bg [En _]]]]]. split; [exact A|]. split; [exact B|]. split; [apply (passed_once j _ _ _ B C)|]. split; assumption.
  - intros t t' i Ht Ht' Hne E Hi Hi'. exfalso. clear - D Ht Ht' Hne E Hi Hi'. unfold round_uses in D.
    assert (Sym : forall x y : sent, begins (data x) = begins (data y) -> In i (route x) -> In i (route y) ->
       ~ (forall a b : use, In a (round_uses_of x) -> In b (round_uses_of y) -> fst a = fst b -> apart (snd a) (snd b))).
    { intros x y Exy Hx Hy H. apply (not_apart _ _ Exy). apply (H _ _ (in_round_uses x i Hx) (in_round_uses y i Hy) eq_refl). }
    induction sch as [|x l IH]; [destruct Ht|]. cbn [flat_map] in D. apply pairs_app in D. destruct D as [_ [D1 D2]].
    destruct Ht as [->|Ht], Ht' as [->|Ht'].
    + congruence.
    + apply (Sym t t'); auto. intros a b Ha Hb Eab. apply D2; auto. apply in_flat_map. eauto.
    + apply (Sym t' t); auto. intros a b Ha Hb Eab. apply D2; auto. apply in_flat_map. eauto.
    + apply IH; auto.
Qed.

(** So what bounds all that is loose bounds schedules in rounds: for instance, each rule of Sharing and Late. *)
Theorem loose_bound_in_rounds j net bound : positive j -> full_sizes j = true ->
  (forall occ sch, loose j net occ sch -> bound <= makespan sch) ->
  forall sch, stepwise j net sch -> bound <= round_makespan j sch.
Proof.
  intros Hp Hf H sch Hs. unfold full_sizes in Hf. rewrite forallb_forall in Hf.
  destruct (stepwise_loose j net Hp (fun b Hb => proj1 (Z.ltb_lt _ _) (Hf b Hb)) sch Hs) as [A B]. specialize (H _ _ A). lia.
Qed.
Theorem free_loose_bound_in_rounds j net bound ps : positive j -> is_cut j ps ->
  (forall occ sch, loose (recut j ps) net occ sch -> bound <= makespan sch) ->
  forall sch, stepwise (recut j ps) net sch -> bound <= round_makespan (recut j ps) sch.
Proof.
  intros Hp Hc. apply loose_bound_in_rounds; auto using recut_positive.
  unfold full_sizes. apply forallb_forall. intros b Hb. cbn [sizes recut] in Hb. apply in_map_iff in Hb. destruct Hb as [p [<- Hb]].
  apply Z.ltb_lt. pose proof (proj1 Hc p Hb). lia.
Qed.
