(** What schedules have of links and times, whether switches copy, add, or do neither: [loose],
    which the rules of Coverage.v and Sharing.v need. What is on a link at one time may be
    several transfers of one chunk, which part or meet at such a switch. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds Copying Adding.
Import ListNotations.
Open Scope Z_scope.

Lemma each_has_one {A B} (P : A -> B -> Prop) l : (forall a, In a l -> exists b, P a b) ->
  exists ps : list (A * B), map fst ps = l /\ forall p, In p ps -> P (fst p) (snd p).
Proof.
  induction l as [|a l IH]; intros H; [exists []; split; [reflexivity|intros ? []]|].
  destruct IH as [ps [E Hp]]; [intros; apply H; right; auto|]. destruct (H a (or_introl eq_refl)) as [b Hb].
  exists ((a, b) :: ps). simpl. split; [congruence|]. intros p [<-|Hin]; auto.
Qed.
Lemma same_place {A} (r : list A) n m i : NoDup r -> nth_error r n = Some i -> nth_error r m = Some i -> n = m.
Proof.
  intros Hd H1 H2. apply (proj1 (NoDup_nth_error r) Hd); [|congruence]. apply nth_error_Some. congruence.
Qed.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

(** ** What is needed *)

Lemma inside_of t : positive j -> leads j (src (tr (data t))) (route t) (dst (tr (data t))) -> (dst (tr (data t)) < nodes j)%nat ->
  (forall v, In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true -> arrival j v <= begins (data t)) -> 0 <= begins (data t) ->
  forall i sp, In (i, sp) (uses_of j t) -> since j i <= begins (data t) <= first sp /\ takes j (size j (what (tr (data t)))) i <= long sp /\
    first sp + long sp + tail j i <= begins (data t) + duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros sane Hl Rv Ha Hb i sp Hin. unfold uses_of in Hin. apply Nat.ltb_lt in Rv.
  destruct (busy_inside j sane _ _ (proj1 (hops_chain j _ _ _ Hl Rv)) _ _ _ Hin) as [A [B [C D]]]. rewrite concat_hops in A.
  destruct (ends_visited j _ _ _ i Hl A) as [P Q]. pose proof (Ha _ P). pose proof (Ha _ Q).
  split; [|split; [unfold takes; lia|exact D]]. split; [|exact B]. clear B C D.
  unfold since. destruct (is_rank j (Cut.src (at_link i))), (is_rank j (Cut.dst (at_link i))); intuition lia.
Qed.

(** Something is in a slot at a time, or was before. *)
Inductive there (ts : list timed) : nat -> nat -> Z -> Prop :=
| there_start v k x w : lookup (pre j) v k = Some w -> 0 <= x -> there ts v k x
| there_sent t x : In t ts -> there ts (src (tr t)) (what (tr t)) (begins t) -> ends t <= x -> there ts (dst (tr t)) (what (tr t)) x.

Lemma there_later ts v k x y : there ts v k x -> x <= y -> there ts v k y.
Proof. intros [v' k' x' w A B|t x' A B C] Hy; [eapply there_start; eauto; lia|apply there_sent; auto; lia]. Qed.

Variable net : network.
Record loose (occ : sent -> list use) (sch : list sent) : Prop := {
  are_transfers : forall t, In t sch -> let x := tr (data t) in
    (what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x;
  have_routes : forall t, In t sch -> leads j (src (tr (data t))) (route t) (dst (tr (data t))) /\ NoDup (route t);
  take_time : forall t, In t sch -> 0 <= begins (data t) < ends (data t) /\
    begins (data t) + duration j (size j (what (tr (data t)))) (route t) <= ends (data t);
  wait_for_ranks : forall t, In t sch -> forall v, In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true -> arrival j v <= begins (data t);
  keep_links : forall t, In t sch -> map fst (occ t) = route t;
  keep_pace : forall t i sp, In t sch -> In (i, sp) (occ t) -> exists sp0, In (i, sp0) (uses_of j t) /\ long sp = long sp0 /\
    first sp0 <= first sp /\
    first sp - first sp0 <= ends (data t) - begins (data t) - duration j (size j (what (tr (data t)))) (route t);
  are_apart : forall t t' a b, In t sch -> In t' sch -> t <> t' -> In a (occ t) -> In b (occ t') -> fst a = fst b ->
    apart (snd a) (snd b) \/ share j net t t' (fst a);
  reads : forall t, In t sch -> there (map data sch) (src (tr (data t))) (what (tr (data t))) (begins (data t));
  bring : forall v k w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch);
  write_all : forall s, In s (unsettled j) -> exists t, In t sch /\ slot (tr (data t)) = s }.

Section Loose.
Hypothesis sane : positive j.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose occ sch.

Lemma has_use t i : In t sch -> In i (route t) -> exists u, In u (occ t) /\ fst u = i.
Proof.
  intros Ht Hi. rewrite <- (keep_links _ _ good t Ht) in Hi. apply in_map_iff in Hi. destruct Hi as [u [E Hu]]. eauto.
Qed.
Lemma are_inside t i sp : In t sch -> In (i, sp) (occ t) -> since j i <= begins (data t) <= first sp /\
  takes j (size j (what (tr (data t)))) i <= long sp /\ first sp + long sp + tail j i <= ends (data t).
Proof.
  intros Ht Hin. destruct (keep_pace _ _ good t i sp Ht Hin) as [sp0 [H0 [-> P]]].
  destruct (are_transfers _ _ good t Ht) as [_ [_ [Rv _]]]. pose proof (take_time _ _ good t Ht).
  destruct (inside_of t sane (proj1 (have_routes _ _ good t Ht)) Rv (wait_for_ranks _ _ good t Ht) ltac:(lia) i sp0 H0) as [A [B C]].
  repeat split; auto; lia.
Qed.
Lemma in_route t i : In t sch -> In i (route t) -> (i < length (links j))%nat.
Proof. intros Ht. apply leads_in with (1 := proj1 (have_routes _ _ good t Ht)). Qed.

(** ** Where what shares links parts or meets *)

Lemma parting_on r : forall r' u v, parting j u r r' = Some v -> v = u \/ exists i, In i r /\ v = Cut.dst (at_link i).
Proof.
  induction r as [|i r IH]; intros [|i' r'] u v H; simpl in H; try discriminate; try (injection H as <-; auto).
  destruct (i =? i')%nat; [|injection H as <-; auto]. destruct (IH _ _ _ H) as [->|[x [Hx E]]]; right; [exists i|exists x]; simpl; auto.
Qed.
Lemma meeting_on r : forall r' u v, meeting j u r r' = Some v -> v = u \/ exists i, In i r /\ v = Cut.src (at_link i).
Proof.
  induction r as [|i r IH]; intros [|i' r'] u v H; simpl in H; try discriminate; try (injection H as <-; auto).
  destruct (i =? i')%nat; [|injection H as <-; auto]. destruct (IH _ _ _ H) as [->|[x [Hx E]]]; right; [exists i|exists x]; simpl; auto.
Qed.
(** No link begins or ends at such a node. *)
Definition nowhere_at (f : nat -> bool) : bool := forallb (fun l => negb (f (Cut.src l)) && negb (f (Cut.dst l))) (links j).
Lemma nowhere_spec f i : nowhere_at f = true -> (i < length (links j))%nat -> f (Cut.src (at_link i)) = false /\ f (Cut.dst (at_link i)) = false.
Proof.
  unfold nowhere_at. rewrite forallb_forall. intros H Hi. specialize (H (at_link i) (nth_In _ _ Hi)).
  rewrite andb_true_iff, !negb_true_iff in H. exact H.
Qed.
Lemma skipn_in {A} n (l : list A) x : In x (skipn n l) -> In x l.
Proof. revert l. induction n as [|n IH]; intros [|a l]; simpl; auto. Qed.
Lemma firstn_in {A} n (l : list A) x : In x (firstn n l) -> In x l.
Proof. revert l. induction n as [|n IH]; intros [|a l]; simpl; intuition. Qed.
Lemma none_parts t t' i : In t sch -> nowhere_at (copying net) = true -> parts_behind j net t t' i -> False.
Proof.
  intros Ht Hn [n [n' [v [A [B [C D]]]]]]. assert (Hi : In i (route t)) by (eapply nth_error_In; eauto).
  destruct (parting_on _ _ _ _ C) as [->|[x [Hx ->]]].
  - destruct (nowhere_spec _ i Hn (in_route t i Ht Hi)). congruence.
  - apply skipn_in in Hx. destruct (nowhere_spec _ x Hn (in_route t x Ht Hx)). congruence.
Qed.
Lemma none_meets t t' i : In t sch -> nowhere_at (adding net) = true -> meets_before j net t t' i -> False.
Proof.
  intros Ht Hn [n [n' [v [A [B [C D]]]]]]. assert (Hi : In i (route t)) by (eapply nth_error_In; eauto).
  destruct (meeting_on _ _ _ _ C) as [->|[x [Hx ->]]].
  - destruct (nowhere_spec _ i Hn (in_route t i Ht Hi)). congruence.
  - apply in_rev, firstn_in in Hx. destruct (nowhere_spec _ x Hn (in_route t x Ht Hx)). congruence.
Qed.

(** ** Times *)

Lemma route_later full head b s : 0 <= b -> (forall l, In l (links j) -> rises_well j (arrival j) full head b l = true) ->
  In s sch -> size j (what (tr (data s))) = b -> potential full (src (tr (data s))) <= Z.max (begins (data s)) (arrival j (src (tr (data s)))) ->
  potential full (dst (tr (data s))) <= ends (data s).
Proof.
  intros B0 Hrise Hin Hb IH.
  destruct (are_transfers _ _ good s Hin) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ good s Hin)) as Hl.
  destruct (take_time _ _ good s Hin) as [Hbg He]. pose proof (wait_for_ranks _ _ good s Hin) as Ha.
  assert (Eu : is_rank j (src (tr (data s))) = true) by (apply Nat.ltb_lt, Ru).
  assert (Ev : is_rank j (dst (tr (data s))) = true) by (apply Nat.ltb_lt, Rv).
  pose proof (Ha _ (or_introl eq_refl) Eu).
  assert (P := route_rises j sane (arrival j) (fun _ => true) full head b B0 (fun l Hl _ => Hrise l Hl)
    (route s) _ _ (begins (data s)) 0 Hl (fun _ _ => eq_refl) Ev).
  assert (N : route s <> []) by (intros E; rewrite E in Hl; simpl in Hl; congruence).
  specialize (P N ltac:(lia)).
  assert (Q : comes j (arrival j) full head (src (tr (data s))) (begins (data s)) 0) by (unfold comes; rewrite Eu; lia).
  specialize (P Q Ha). unfold duration in He. rewrite Hb in He.
  assert (begins (data s) + match hops j (route s) with [] => 0 | h :: hs =>
            latencies j h + Z.max 0 (slowest j b h) + lasting j b hs end
          <= ends (data s)).
  { eapply Z.le_trans; [|exact He]. destruct (hops j (route s)) as [|h hs]; cbn [Cut.sum fold_right]; [lia|].
    pose proof (slowest_0 j b h). unfold lasting, Cut.sum. lia. }
  lia.
Qed.
(** When a contribution can be somewhere, and when anything can. *)
Lemma loose_rises full head k c b : size j k = b ->
  (forall l, In l (links j) -> rises_well j (arrival j) full head b l = true) ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> potential full u <= arrival j u) ->
  forall v x, holds j (map data sch) c v k x -> potential full v <= Z.max x (arrival j v).
Proof.
  intros Hb Hrise Hs v x H. remember k as k' eqn:Ek in H.
  assert (B0 : 0 <= b) by (rewrite <- Hb; apply sane_size, sane).
  induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (Hs _ _ Hl Hc). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]]. specialize (IH Ek). rewrite <- Ek in Hb.
    pose proof (route_later full head b s B0 Hrise Hin Hb IH). lia.
Qed.
Lemma there_rises full head k b : size j k = b ->
  (forall l, In l (links j) -> rises_well j (arrival j) full head b l = true) ->
  (forall u w, In ((u, k), w) (pre j) -> potential full u <= arrival j u) ->
  forall v x, there (map data sch) v k x -> potential full v <= Z.max x (arrival j v).
Proof.
  intros Hb Hrise Hs v x H. remember k as k' eqn:Ek in H.
  assert (B0 : 0 <= b) by (rewrite <- Hb; apply sane_size, sane).
  induction H as [v k' x w Hl _|t x Ht Hh IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (Hs _ _ Hl). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]]. specialize (IH Ek). rewrite <- Ek in Hb.
    pose proof (route_later full head b s B0 Hrise Hin Hb IH). lia.
Qed.
End Loose.

(** ** Right schedules are such *)

Section Right.
Variable sch : list sent.

Lemma executed_bring : executes j sch -> (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  forall v k w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch).
Proof.
  intros [H [He Hg]] Hb v k w c Hin Hc. destruct (Hg _ _ _ Hin) as [got [Hgot Ha]].
  apply (arrive j _ H He) with (w := got); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (Hb s Hs).
  - apply makespan_0.
  - specialize (Ha c). unfold contains in *. destruct (idempotent j); [tauto|congruence].
Qed.
Lemma executed_write : executes j sch -> forall s, In s (unsettled j) -> exists t, In t sch /\ slot (tr (data t)) = s.
Proof.
  intros [H [He Hg]] s Hs. apply nodup_In in Hs. apply in_map_iff in Hs.
  destruct Hs as [[[v k] w] [<- Hin]]. apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin Hn].
  destruct (changed j _ H He (makespan sch) (makespan_0 sch) v k) as [E|[t [Ht [Et _]]]].
  - destruct (Hg _ _ _ Hin) as [got [Hgot Ha]]. rewrite E in Hgot.
    unfold settled in Hn. rewrite Hgot in Hn. apply agreesb_spec in Ha. rewrite Ha in Hn. discriminate.
  - apply in_map_iff in Ht. destruct Ht as [x [<- Hx]]. exists x. auto.
Qed.
Lemma sums_read (H : Z -> state) ws : (forall t, In t ws -> op (tr t) = Reduce) -> forall acc,
  fold_left (after H) ws acc <> None -> acc <> None /\ forall t, In t ws -> H (begins t) (src (tr t)) (what (tr t)) <> None.
Proof.
  induction ws as [|a ws IH]; simpl; intros R acc N; [split; [exact N|tauto]|].
  destruct (IH (fun t Ht => R t (or_intror Ht)) _ N) as [A B]. unfold after in A. rewrite (R a (or_introl eq_refl)) in A. unfold put in A.
  destruct (H (begins a) (src (tr a)) (what (tr a))) eqn:E; [|congruence]. destruct acc; [|congruence].
  split; [discriminate|]. intros t [<-|Ht]; [congruence|auto].
Qed.
Lemma all_read H ts t : execution (lookup (pre j)) ts H -> In t ts -> 0 < ends t -> H (begins t) (src (tr t)) (what (tr t)) <> None.
Proof.
  intros [_ Hx] Ht He. destruct (Hx (ends t) (dst (tr t)) (what (tr t)) He) as [E [Once N]].
  set (ws := filter (Timed.into (dst (tr t)) (what (tr t)) (ends t)) ts) in *.
  assert (Hin : In t ws) by (apply filter_In; split; auto; unfold Timed.into; rewrite Z.eqb_refl, andb_true_r; apply same_slot_spec; reflexivity).
  assert (N' : H (ends t) (dst (tr t)) (what (tr t)) <> None) by (apply N; intros E'; rewrite E' in Hin; destruct Hin).
  destruct (op (tr t)) eqn:Eo.
  - rewrite (Once t Hin Eo) in E. cbn [fold_left] in E. unfold after in E. rewrite Eo in E. unfold put in E. rewrite E in N'.
    destruct (H (begins t) (src (tr t)) (what (tr t))); [discriminate|congruence].
  - rewrite E in N'. apply (sums_read H ws) in N'; [apply (proj2 N' t Hin)|]. intros u Hu. destruct (op (tr u)) eqn:Eu; auto.
    pose proof (Once u Hu Eu) as W. rewrite W in Hin. destruct Hin as [->|[]]. congruence.
Qed.
Lemma filled H ts : execution (lookup (pre j)) ts H -> (forall t, In t ts -> 0 <= begins t < ends t) ->
  forall x, 0 <= x -> forall v k, H x v k <> None -> there ts v k x.
Proof.
  intros Ex Ht x Hx0. pose proof Ex as [H0 Hx]. generalize Hx0. pattern x. apply Z_lt_induction; [|exact Hx0].
  clear x Hx0. intros x IH Hx0 v k N. destruct (Z_lt_le_dec 0 x) as [Hpos|Hneg].
  - destruct (Hx x v k Hpos) as [Hf _]. destruct (filter (Timed.into v k x) ts) as [|t ws] eqn:E.
    + simpl in Hf. rewrite Hf in N. specialize (IH (x - 1) ltac:(lia) ltac:(lia) v k N).
      inversion IH as [v' k' x' w A B|t x' A B C]; subst; [eapply there_start; eauto|apply there_sent; auto; lia].
    + assert (Hin : In t (filter (Timed.into v k x) ts)) by (rewrite E; left; auto). apply filter_In in Hin. destruct Hin as [Hin Hi].
      unfold Timed.into in Hi. apply andb_true_iff in Hi. destruct Hi as [Hs He]. apply same_slot_spec in Hs. injection Hs as <- <-. apply Z.eqb_eq in He.
      specialize (Ht t Hin). apply there_sent; auto; [|lia]. apply (IH (begins t) ltac:(lia) ltac:(lia)). apply (all_read H ts t Ex Hin). lia.
  - replace x with 0 in * by lia. rewrite H0 in N. destruct (lookup (pre j) v k) as [w|] eqn:E; [|congruence]. eapply there_start; eauto.
Qed.
Lemma executed_reads : executes j sch -> (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  forall t, In t sch -> there (map data sch) (src (tr (data t))) (what (tr (data t))) (begins (data t)).
Proof.
  intros [H [He _]] Hb t Ht. assert (B : forall u, In u (map data sch) -> 0 <= begins u < ends u).
  { intros u Hu. apply in_map_iff in Hu. destruct Hu as [s [<- Hs]]. apply Hb, Hs. }
  apply (filled H _ He B); [apply Hb, Ht|]. apply (all_read H _ _ He); [apply in_map, Ht|]. specialize (Hb t Ht). lia.
Qed.

Lemma waiting_route t : map fst (waiting_uses_of j net t) = route t.
Proof.
  rewrite <- (uses_of_route j t). unfold waiting_uses_of. destruct (uses_of j t) as [|a [|b [|c l]]]; reflexivity.
Qed.
Lemma passed_once r : forall u v, leads j u r v -> NoDup (visited j u r) -> NoDup r.
Proof.
  intros u v _ H. unfold visited in H. inversion H as [|? ? _ H']; subst. clear H.
  induction r as [|i r IH]; [constructor|]. simpl in H'. inversion H' as [|? ? Hn H'']; subst. constructor; auto.
  intros Hi. apply Hn. apply (in_map (fun i => Cut.dst (at_link i))), Hi.
Qed.

Theorem adding_loose : right_adding j net sch -> loose (waiting_uses_of j net) sch.
Proof.
  intros [W [[S [_ _]] X]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [[A [_ B]] _]]. split; [exact A|exact B].
  - intros t Ht. destruct (W t Ht) as [_ [_ [A [B _]]]]. split; [exact A|exact B].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t Ht. apply waiting_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [_ [_ [_ [Hd _]]]].
    assert (W0 : 0 <= waited j net t <= ends (data t) - begins (data t) - duration j (size j (what (tr (data t)))) (route t)).
    { unfold waited. destruct (may_wait j net (route t)); lia. }
    assert (I : In (i, sp) (uses_of j t) -> exists sp0, In (i, sp0) (uses_of j t) /\ long sp = long sp0 /\
      first sp0 <= first sp /\ first sp - first sp0 <= ends (data t) - begins (data t) - duration j (size j (what (tr (data t)))) (route t)).
    { intros H. exists sp. repeat split; auto; lia. }
    unfold waiting_uses_of in Hin. destruct (uses_of j t) as [|a [|b [|c l]]]; auto.
    destruct Hin as [Q|[Q|[]]]; [apply I; left; exact Q|]. destruct b as [k s]. injection Q as <- <-.
    exists s. split; [right; left; reflexivity|]. cbn [fst snd first long]. repeat split; lia.
  - intros t t' a b Ht Ht' Hne Ha Hb E. apply (streams_apart j net (waiting_uses_of j net) sch S); auto; [intros; apply waiting_route|].
    destruct (W t Ht) as [_ [[Hl _] _]]. apply (leads_in j _ _ _ Hl). rewrite <- (waiting_route t). apply in_map, Ha.
  - apply executed_reads; auto. intros t Ht. apply (W t Ht).
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.

Theorem right_loose : right j sch -> loose (uses_of j) sch.
Proof.
  intros R. pose proof R as [W [Dj [_ X]]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [A [B _]]]. split; [exact A|apply (passed_once _ _ _ A B)].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. split; [exact A|lia].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t _. apply uses_of_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [_ [_ [_ [_ [He _]]]]]. exists sp. repeat split; auto; lia.
  - intros t t' a b Ht Ht' Hne Ha Hb E. left. clear - Dj Ht Ht' Hne Ha Hb E.
    unfold uses in Dj. induction sch as [|x l IH]; [destruct Ht|]. simpl in Dj. apply pairs_app in Dj. destruct Dj as [_ [D1 D2]].
    assert (Sym : forall a b : use, fst a = fst b -> (fst b = fst a -> apart (snd b) (snd a)) -> apart (snd a) (snd b)).
    { clear. intros a b E H. specialize (H (eq_sym E)). unfold apart in *. lia. }
    destruct Ht as [->|Ht], Ht' as [->|Ht'].
    + congruence.
    + apply (D2 a b); auto. apply in_flat_map. eauto.
    + apply Sym; auto. apply (D2 b a); auto. apply in_flat_map. eauto.
    + apply IH; auto.
  - apply executed_reads; auto. intros t Ht. apply (W t Ht).
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.

(** ** Where switches copy *)

Lemma parting_sym r : forall r' u, parting j u r r' = parting j u r' r.
Proof.
  induction r as [|i r IH]; intros [|i' r'] u; simpl; auto. destruct (Nat.eqb_spec i i') as [->|H].
  - rewrite Nat.eqb_refl. apply IH.
  - rewrite (proj2 (Nat.eqb_neq i' i)) by auto. reflexivity.
Qed.
Lemma parting_behind n : forall r r' u i, nth_error r n = Some i -> firstn (S n) r = firstn (S n) r' ->
  nth_error r' n = Some i /\ parting j u r r' = parting j (Cut.dst (at_link i)) (skipn (S n) r) (skipn (S n) r').
Proof.
  induction n as [|n IH]; intros [|x r] [|x' r'] u i H E; simpl in H; try discriminate.
  - injection H as ->. cbn [firstn] in E. injection E as <-. split; [reflexivity|]. simpl. rewrite Nat.eqb_refl. reflexivity.
  - cbn [firstn] in E. injection E as <- E. destruct (IH r r' (Cut.dst (at_link x)) i H E) as [A B]. split; [exact A|].
    simpl. rewrite Nat.eqb_refl. exact B.
Qed.
Lemma marked_at f a : (forall t, In t sch -> map fst (f t) = route t) -> In a (mark f sch) -> In (fst (snd a)) sch /\ In (fst a) (f (fst (snd a))) /\
  exists n, snd (snd a) = S n /\ nth_error (route (fst (snd a))) n = Some (fst (fst a)).
Proof.
  intros Hf H. apply in_flat_map in H. destruct H as [t [Ht H]]. destruct a as [u m].
  assert (M : exists n, m = (t, S n) /\ nth_error (f t) n = Some u).
  { assert (G : forall l k, In (u, m) (combine l (map (pair t) (seq (S k) (length l)))) -> exists n, m = (t, S (k + n)) /\ nth_error l n = Some u).
    { induction l as [|x l IH]; intros k; simpl; [tauto|]. intros [[= -> <-]|Hin]; [exists O; split; [f_equal; lia|reflexivity]|].
      destruct (IH (S k) Hin) as [n [A B]]. exists (S n). split; [rewrite A; do 2 f_equal; lia|exact B]. }
    apply (G (f t) 0%nat H). }
  destruct M as [n [-> N]]. cbn [fst snd]. split; [exact Ht|]. split; [eapply nth_error_In; eauto|]. exists n. split; [reflexivity|].
  rewrite <- (Hf t Ht). transitivity (option_map fst (nth_error (f t) n)); [apply nth_error_map|rewrite N; reflexivity].
Qed.
Lemma use_marked f t a : In t sch -> In a (f t) -> exists n, In (a, (t, n)) (mark f sch).
Proof.
  intros Ht Ha. assert (G : forall l k, In a l -> exists n, In (a, (t, n)) (combine l (map (pair t) (seq k (length l))))).
  { induction l as [|x l IH]; intros k; simpl; [tauto|]. intros [->|Hin]; [exists k; left; reflexivity|].
    destruct (IH (S k) Hin) as [n Hn]. exists n. right. exact Hn. }
  destruct (G (f t) 1%nat Ha) as [n Hn]. exists n. apply in_flat_map. exists t. split; auto.
Qed.
Lemma together_share f t t' a b n n' : (forall t, In t sch -> map fst (f t) = route t) -> In (a, (t, n)) (mark f sch) -> In (b, (t', n')) (mark f sch) ->
  together j (copying net) (t, n) (t', n') = true -> fst b = fst a ->
  what (tr (data t)) = what (tr (data t')) /\ parts_behind j net t t' (fst a) /\ comes_alike t t' (fst a).
Proof.
  intros Hf Ma Mb H Eb. destruct (marked_at f _ Hf Ma) as [_ [_ [m [E N]]]]. destruct (marked_at f _ Hf Mb) as [_ [_ [m' [E' N']]]].
  cbn [fst snd] in *. subst n n'. unfold together in H. rewrite !andb_true_iff, !Nat.eqb_eq in H. destruct H as [[[[H1 H2] _] H4] H5].
  split; [exact H1|]. unfold same_list in H4. destruct (list_eq_dec Nat.eq_dec _ _) as [F|]; [|discriminate].
  assert (L : m = m').
  { apply (f_equal (@length nat)) in F. rewrite !firstn_length in F. pose proof (proj1 (nth_error_Some (route t) m) ltac:(congruence)).
    pose proof (proj1 (nth_error_Some (route t') m') ltac:(congruence)). lia. }
  subst m'. destruct (parting j _ _ _) as [v|] eqn:P; [|discriminate].
  destruct (parting_behind m _ _ (src (tr (data t))) (fst a) N F) as [A B].
  split; [exists m, m, v; repeat split; auto; congruence|exists m, m; auto].
Qed.
Lemma copies_apart f : disjoint_or_together j (copying net) (mark f sch) -> (forall t, In t sch -> map fst (f t) = route t) ->
  forall t t' a b, In t sch -> In t' sch -> t <> t' -> In a (f t) -> In b (f t') -> fst a = fst b ->
  apart (snd a) (snd b) \/ share j net t t' (fst a).
Proof.
  intros D Hf t t' a b Ht Ht' Hne Ha Hb E. destruct (use_marked f t a Ht Ha) as [n Hn]. destruct (use_marked f t' b Ht' Hb) as [n' Hn'].
  destruct (ForallOrdPairs_In D _ _ Hn Hn') as [Q|[Q|Q]].
  - congruence.
  - destruct (Q E) as [Q1|Q1]; [left; exact Q1|right].
    destruct (together_share f t t' a b n n' Hf Hn Hn' Q1 (eq_sym E)) as [A [B C]]. unfold share. auto.
  - destruct (Q (eq_sym E)) as [Q1|Q1]; [left; unfold apart in *; cbn [fst snd] in *; lia|right].
    destruct (together_share f t' t b a n' n Hf Hn' Hn Q1 E) as [S1 [[m [m' [v [A [B [C F]]]]]] [p [p' [P1 [P2 [P3 P4]]]]]]]. rewrite <- E in *.
    assert (B1 : parts_behind j net t t' (fst a)) by (exists m', m, v; repeat split; auto; rewrite parting_sym; exact C).
    split; [congruence|]. split; [left; exact B1|]. split; [left|right; exact B1]. exists p', p. auto.
Qed.

Theorem copying_loose : right_copying j (copying net) sch -> loose (uses_of j) sch.
Proof.
  intros [W [D [_ X]]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [A [B _]]]. split; [exact A|apply (passed_once _ _ _ A B)].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. split; [exact A|lia].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t _. apply uses_of_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [_ [_ [_ [_ [He _]]]]]. exists sp. repeat split; auto; lia.
  - apply copies_apart; auto. intros t _. apply uses_of_route.
  - apply executed_reads; auto. intros t Ht. apply (W t Ht).
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.
End Right.
End Job.
