(** What transfers with routes occupy of links, and how much passes them: lemmas (hop), (lanes)
    and (passing) of package cert, for the windows from the arrival of the ranks at a link's ends to the
    makespan less its own latency and that of a link that must follow it. Left out there: the
    times before a link on the way, and further on; ports; the first of the two areas. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule.
Import ListNotations.
Open Scope Z_scope.

Definition positive (j : job) : Prop :=
  (forall l, In l (links j) -> 0 <= latency l /\ 0 < bandwidth l) /\ (forall b, In b (sizes j) -> 0 <= b).
Definition positiveb (j : job) : bool :=
  forallb (fun l => (0 <=? latency l) && (0 <? bandwidth l)) (links j) && forallb (fun b => 0 <=? b) (sizes j).
Lemma positiveb_spec j : positiveb j = true <-> positive j.
Proof.
  unfold positiveb, positive. rewrite andb_true_iff, !forallb_forall.
  split; intros [A B]; split; intros x Hx; specialize (A x) || idtac.
  - specialize (A Hx). apply andb_true_iff in A. rewrite Z.leb_le, Z.ltb_lt in A. exact A.
  - apply Z.leb_le. apply B; auto.
  - specialize (A Hx). apply andb_true_iff. rewrite Z.leb_le, Z.ltb_lt. exact A.
  - apply Z.leb_le. apply B; auto.
Qed.

(** ** Pairs and sums *)

Lemma pairs_app {A} (R : A -> A -> Prop) a b :
  ForallOrdPairs R (a ++ b) <->
  ForallOrdPairs R a /\ ForallOrdPairs R b /\ (forall x y, In x a -> In y b -> R x y).
Proof.
  induction a as [|x a IH]; simpl.
  - split; [intros H; repeat split; auto; [constructor|tauto]|tauto].
  - split.
    + intros H. inversion H as [|? ? Hx Hr]; subst. apply IH in Hr. destruct Hr as [Ha [Hb Hab]].
      rewrite Forall_forall in Hx. repeat split; auto.
      * constructor; auto. rewrite Forall_forall. intros y Hy. apply Hx, in_or_app. auto.
      * intros y z [->|Hy] Hz; auto. apply Hx, in_or_app. auto.
    + intros [Ha [Hb Hab]]. inversion Ha as [|? ? Hx Hr]; subst. rewrite Forall_forall in Hx.
      constructor; [|apply IH; auto]. rewrite Forall_forall. intros y Hy. apply in_app_or in Hy.
      destruct Hy; auto.
Qed.

(** One of each. *)
Lemma pairs_pick {A B} (R : A -> A -> Prop) (f : B -> list A) (g : B -> option A) l :
  (forall x a, In x l -> g x = Some a -> In a (f x)) -> ForallOrdPairs R (flat_map f l) ->
  ForallOrdPairs R (flat_map (fun x => match g x with Some a => [a] | None => [] end) l).
Proof.
  induction l as [|x l IH]; simpl; intros Hg H; [constructor|].
  apply pairs_app in H. destruct H as [_ [Hl Hx]].
  apply pairs_app. repeat split; auto.
  - destruct (g x); repeat constructor.
  - intros a b Ha Hb. apply Hx.
    + destruct (g x) eqn:E; simpl in Ha; [|tauto]. destruct Ha as [->|[]]. auto.
    + apply in_flat_map in Hb. destruct Hb as [y [Hy Hb]]. apply in_flat_map. exists y. split; auto.
      destruct (g y) eqn:E; simpl in Hb; [|tauto]. destruct Hb as [->|[]]. auto.
Qed.

Lemma sum_one {A} (l : list A) : sum (fun _ => 1) l = Z.of_nat (length l).
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [sum fold_right length] in *. unfold sum in IH. rewrite IH. lia. Qed.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Notation at_link := (at_link j).

Lemma sane_link i : 0 <= latency (at_link i) /\ 0 < bandwidth (at_link i).
Proof.
  unfold Schedule.at_link, the. destruct (Nat.lt_ge_cases i (length (links j))) as [H|H].
  - apply sane, nth_In, H.
  - rewrite nth_overflow by exact H. simpl. lia.
Qed.
Lemma sane_size k : 0 <= size j k.
Proof.
  unfold size. destruct (Nat.lt_ge_cases k (length (sizes j))) as [H|H].
  - apply sane, nth_In, H.
  - rewrite nth_overflow by exact H. lia.
Qed.
Lemma beta_0 l b : 0 < bandwidth l -> 0 <= b -> 0 <= beta l b.
Proof. intros. unfold beta. apply Z.div_pos; [unfold picoseconds|]; lia. Qed.
Lemma beta_mono l a b : 0 < bandwidth l -> a <= b -> beta l a <= beta l b.
Proof. intros. unfold beta. apply Z.div_le_mono; [lia|]. unfold picoseconds. lia. Qed.
Lemma beta_pos l b : 0 < bandwidth l -> 0 < b -> 0 < beta l b.
Proof.
  intros Hl Hb. unfold beta. apply Z.div_str_pos. unfold picoseconds. split; [lia|].
  change (10 ^ 12) with 1000000000000. lia.
Qed.

(** ** (hop) *)

(** What of a link's latency is in its occupation. What comes after that is its tail. *)
Definition beside (i : nat) : Z := match model j with Blocking => latency (at_link i) | Pipelined => 0 end.

(** From a switch the next link leads on, with its latency. *)
Definition onward (v : nat) : Z :=
  if is_rank j v then 0 else
  match map latency (filter (fun l => (Cut.src l =? v)%nat) (links j)) with
  | [] => 0
  | x :: l => fold_right Z.min x l
  end.
Lemma fold_min x l y : In y (x :: l) -> fold_right Z.min x l <= y.
Proof.
  intros [->|H].
  - induction l as [|b l IH]; simpl; lia.
  - induction l as [|b l IH]; simpl in *; [tauto|]. destruct H as [->|H]; [lia|]. specialize (IH H). lia.
Qed.
Lemma onward_le v i : (i < length (links j))%nat -> Cut.src (at_link i) = v -> onward v <= latency (at_link i).
Proof.
  intros Hi Hs. unfold onward. pose proof (sane_link i). destruct (is_rank j v); [lia|].
  assert (H' : In (latency (at_link i)) (map latency (filter (fun l => (Cut.src l =? v)%nat) (links j)))).
  { apply in_map, filter_In. split; [apply nth_In, Hi|]. apply Nat.eqb_eq, Hs. }
  destruct (map latency _) as [|x l]; [destruct H'|]. apply fold_min, H'.
Qed.

Lemma onward_0 v : 0 <= onward v.
Proof.
  unfold onward. destruct (is_rank j v); [lia|].
  assert (G : forall l, (forall x, In x l -> 0 <= x) -> 0 <= match l with [] => 0 | x :: l => fold_right Z.min x l end).
  { clear. destruct l as [|x l]; [lia|]. intros H. assert (0 <= x) by (apply H; left; auto).
    assert (Q : forall y, In y l -> 0 <= y) by (intros y Hy; apply H; right; auto). clear H. induction l as [|y l IH]; simpl; [lia|].
    specialize (IH (fun z Hz => Q z (or_intror Hz))). specialize (Q y (or_introl eq_refl)). lia. }
  apply G. intros x Hx. apply in_map_iff in Hx. destruct Hx as [l [<- Hx]]. apply filter_In in Hx. apply (proj1 sane l (proj1 Hx)).
Qed.

Definition tail (i : nat) : Z :=
  match model j with Blocking => 0 | Pipelined => latency (at_link i) end + onward (Cut.dst (at_link i)).

(** The links of a hop follow one another, and the last ends at a rank. *)
Fixpoint chain (h : list nat) : Prop :=
  match h with
  | [] => True
  | i :: h' => match h' with
               | [] => is_rank j (Cut.dst (at_link i)) = true
               | i' :: _ => (i' < length (links j))%nat /\ Cut.src (at_link i') = Cut.dst (at_link i)
               end /\ chain h'
  end.
Lemma hops_chain r : forall u v, leads j u r v -> is_rank j v = true ->
  (forall h, In h (hops j r) -> chain h) /\
  match hops j r with
  | (i :: _) :: _ => (i < length (links j))%nat /\ Cut.src (at_link i) = u
  | [] :: _ => False
  | [] => r = []
  end.
Proof.
  induction r as [|i r IH]; intros u v Hl Hv; [simpl; tauto|]. destruct Hl as [Hi [Hs Hl]].
  destruct (IH _ _ Hl Hv) as [A B]. cbn [hops]. destruct (is_rank j (Cut.dst (at_link i))) eqn:E.
  - split; [|auto]. intros h [<-|Hh]; [simpl; auto|auto].
  - destruct (hops j r) as [|h hs].
    + subst r. simpl in Hl. congruence.
    + destruct h as [|i' h]; [destruct B|]. split; [|auto].
      intros h' [<-|Hh]; [|apply A; right; auto]. cbn [chain]. split; [exact B|]. apply (A (i' :: h)). left; auto.
Qed.

Lemma concat_hops r : concat (hops j r) = r.
Proof.
  induction r as [|i r IH]; simpl; auto.
  destruct (is_rank j _); simpl; [congruence|].
  destruct (hops j r); simpl in *; congruence.
Qed.

Lemma slowest_ge b h : forall i, In i h -> beta (at_link i) b <= slowest j b h.
Proof. induction h as [|a h IH]; simpl; [tauto|]. intros i [->|Hi]; [lia|]. specialize (IH i Hi). lia. Qed.
Lemma slowest_0 b h : 0 <= slowest j b h.
Proof. induction h as [|a h IH]; simpl; lia. Qed.
Lemma latencies_0 h : 0 <= latencies j h.
Proof. unfold latencies. induction h as [|a h IH]; simpl; [lia|]. pose proof (sane_link a). lia. Qed.

Lemma along_inside slow h : 0 <= slow -> chain h -> forall from i sp, In (i, sp) (along j slow from h) ->
  In i h /\ from <= first sp /\ long sp = slow + beside i /\
  first sp + long sp + tail i <= from + latencies j h + slow.
Proof.
  intros Hs. unfold beside, tail. induction h as [|a h IH]; [simpl; tauto|]. intros [Hc Hc'] from i sp [E|Hin].
  - injection E as <- <-. simpl. pose proof (sane_link a). pose proof (latencies_0 h).
    assert (On : onward (Cut.dst (at_link a)) <= latencies j h).
    { destruct h as [|i' h].
      - unfold onward. rewrite Hc. simpl. lia.
      - destruct Hc as [Hi Hsrc]. pose proof (onward_le _ i' Hi Hsrc). pose proof (latencies_0 h).
        unfold latencies in *. simpl. lia. }
    unfold latencies in *. simpl. destruct (model j); repeat split; auto; lia.
  - destruct (IH Hc' _ _ _ Hin) as [A [B [C D]]]. pose proof (sane_link a).
    unfold latencies in *. simpl. repeat split; auto; lia.
Qed.
Lemma along_all slow h : forall from i, In i h -> exists sp, In (i, sp) (along j slow from h).
Proof.
  induction h as [|a h IH]; simpl; [tauto|]. intros from i [->|Hi]; [eauto|].
  destruct (IH (from + latency (at_link a)) i Hi) as [sp H]. eauto.
Qed.

Definition lasting (b : Z) (hs : list (list nat)) : Z := sum (fun h => latencies j h + slowest j b h) hs.
Lemma lasting_0 b hs : 0 <= lasting b hs.
Proof.
  unfold lasting. induction hs as [|h hs IH]; simpl; [lia|].
  pose proof (latencies_0 h). pose proof (slowest_0 b h). lia.
Qed.
Lemma busy_inside b hs : (forall h, In h hs -> chain h) -> forall from i sp, In (i, sp) (busy_hops j b from hs) ->
  In i (concat hs) /\ from <= first sp /\ beta (at_link i) b + beside i <= long sp /\
  first sp + long sp + tail i <= from + lasting b hs.
Proof.
  induction hs as [|h hs IH]; [simpl; tauto|]. intros Hch from i sp Hin. cbn [busy_hops] in Hin. simpl.
  apply in_app_or in Hin.
  pose proof (slowest_0 b h). pose proof (latencies_0 h). pose proof (lasting_0 b hs).
  unfold lasting in *. simpl. destruct Hin as [Hin|Hin].
  - destruct (along_inside _ _ (slowest_0 b h) (Hch h (or_introl eq_refl)) _ _ _ Hin) as [A [B [C D]]].
    pose proof (slowest_ge b h i A). repeat split; try lia. apply in_or_app; auto.
  - destruct (IH (fun h' H' => Hch h' (or_intror H')) _ _ _ Hin) as [A [B [C D]]].
    repeat split; try lia. apply in_or_app; auto.
Qed.
Lemma busy_all b hs : forall from i, In i (concat hs) -> exists sp, In (i, sp) (busy_hops j b from hs).
Proof.
  induction hs as [|h hs IH]; simpl; [tauto|]. intros from i Hi. apply in_app_or in Hi. destruct Hi as [Hi|Hi].
  - destruct (along_all (slowest j b h) h from i Hi) as [sp H]. exists sp. apply in_or_app; auto.
  - destruct (IH (from + (latencies j h + slowest j b h)) i Hi) as [sp H]. exists sp. apply in_or_app; auto.
Qed.

Lemma uses_of_route t : map fst (uses_of j t) = route t.
Proof.
  unfold uses_of. rewrite <- (concat_hops (route t)) at 2. generalize (begins (data t)).
  induction (hops j (route t)) as [|h hs IH]; intros from; [reflexivity|]. cbn [busy_hops concat]. rewrite map_app, IH. f_equal.
  generalize (slowest j (size j (what (tr (data t)))) h). intros s. revert from.
  induction h as [|i h IHh]; intros from; [reflexivity|]. cbn [along map fst]. f_equal. apply IHh.
Qed.

(** A transfer waits for the ranks on its route, and so for those at the ends of its links. *)
Definition since (i : nat) : Z :=
  let at_rank v := if is_rank j v then arrival j v else 0 in
  Z.max 0 (Z.max (at_rank (Cut.src (at_link i))) (at_rank (Cut.dst (at_link i)))).
Lemma ends_visited r : forall u v i, leads j u r v -> In i r ->
  In (Cut.src (at_link i)) (visited j u r) /\ In (Cut.dst (at_link i)) (visited j u r).
Proof.
  induction r as [|a r IH]; intros u v i Hl Hi; [destruct Hi|]. destruct Hl as [_ [Hs Hl]].
  destruct Hi as [->|Hi].
  - split; [left; symmetry; exact Hs|right; left; reflexivity].
  - destruct (IH _ _ i Hl Hi). split; right; assumption.
Qed.
Lemma since_begins t i : well j t -> In i (route t) -> since i <= begins (data t).
Proof.
  intros [_ [Hl [_ [Hb [_ Ha]]]]] Hi. destruct (ends_visited _ _ _ i Hl Hi) as [A B].
  unfold since. pose proof (Ha _ A). pose proof (Ha _ B).
  destruct (is_rank j (Cut.src (at_link i))), (is_rank j (Cut.dst (at_link i))); intuition lia.
Qed.

(** A transfer occupies each link of its route, for its bytes or longer, inside its time. *)
Lemma uses_inside t : well j t -> forall i sp, In (i, sp) (uses_of j t) ->
  In i (route t) /\ since i <= first sp /\ beta (at_link i) (size j (what (tr (data t)))) + beside i <= long sp /\
  first sp + long sp + tail i <= ends (data t).
Proof.
  intros Hw i sp Hin. pose proof Hw as [[_ [_ [Rv _]]] [Hl [_ [Hb [He _]]]]]. unfold uses_of in Hin.
  apply Nat.ltb_lt in Rv. destruct (busy_inside _ _ (proj1 (hops_chain _ _ _ Hl Rv)) _ _ _ Hin) as [A [B [C D]]]. rewrite concat_hops in A.
  pose proof (since_begins t i Hw A). unfold duration in He. unfold lasting in D. repeat split; auto; lia.
Qed.
Lemma uses_all t i : In i (route t) -> exists sp, In (i, sp) (uses_of j t).
Proof. intros H. apply busy_all. rewrite concat_hops. exact H. Qed.

(** ** (passing) *)

Definition window (T : Z) (i : nat) : Z := Z.max 0 (T - tail i - since i).
Definition takes (b : Z) (i : nat) : Z := beta (at_link i) b + beside i.

(** What is on one link, disjoint, fits between two times. *)
Lemma fit_between lo hi i (us : list use) :
  disjoint us -> (forall a, In a us -> fst a = i /\ lo <= first (snd a) /\ 0 <= long (snd a) /\ first (snd a) + long (snd a) <= hi) ->
  sum (fun a => long (snd a)) us <= Z.max 0 (hi - lo).
Proof.
  intros Hd Hin. destruct us as [|u us'] eqn:E; [simpl; lia|]. rewrite <- E in *.
  assert (Hu : In u us) by (rewrite E; left; auto).
  pose proof (Hin u Hu) as Hu'.
  enough (sum long (map snd us) <= hi - lo) by (rewrite sum_map in *; lia).
  apply (spans_fit (length (map snd us))); auto.
  - lia.
  - intros a Ha. apply in_map_iff in Ha. destruct Ha as [x [<- Hx]]. specialize (Hin x Hx). lia.
  - clear - Hd Hin. unfold disjoint in Hd. induction Hd as [|x l Hx _ IH]; simpl; constructor.
    + rewrite Forall_forall in *. intros b Hb. apply in_map_iff in Hb. destruct Hb as [y [<- Hy]].
      apply Hx; auto. destruct (Hin x (or_introl eq_refl)) as [-> _].
      destruct (Hin y (or_intror Hy)) as [-> _]. reflexivity.
    + apply IH. intros y Hy. apply Hin. right. auto.
Qed.
Lemma fit_link T i (us : list use) :
  disjoint us -> (forall a, In a us -> fst a = i /\ since i <= first (snd a) /\ 0 <= long (snd a) /\
    first (snd a) + long (snd a) + tail i <= T) ->
  sum (fun a => long (snd a)) us <= window T i.
Proof. intros Hd Hin. apply (fit_between (since i) (T - tail i) i); auto. intros a Ha. destruct (Hin a Ha) as [A [B [C D]]]. repeat split; auto; lia. Qed.

(** Different items need different transfers, and each of these passes one of the links. *)
Section Items.
Variable A : Type.
Variable key : sent -> A.
Variable weight : A -> Z.
Variable sch : list sent.
Variable ls : list nat.
Variable items : list A.
Hypothesis good : right j sch.
Hypothesis weights : forall t, In t sch -> weight (key t) = size j (what (tr (data t))).
Hypothesis ls_once : NoDup ls.
Hypothesis items_once : NoDup items.
Hypothesis served : forall a, In a items ->
  exists t i, In t sch /\ key t = a /\ In i (route t) /\ In i ls.
Hypothesis heavy : forall a, 0 <= weight a.

Definition chosen (t : sent) : option use := find (fun a => existsb (Nat.eqb (fst a)) ls) (uses_of j t).
Definition movers : list sent := filter (fun t => match chosen t with Some _ => true | None => false end) sch.

Lemma chosen_in t a : chosen t = Some a -> In a (uses_of j t) /\ In (fst a) ls.
Proof.
  intros H. apply find_some in H. destruct H as [H1 H2]. split; auto.
  apply existsb_exists in H2. destruct H2 as [x [Hx E]]. apply Nat.eqb_eq in E. congruence.
Qed.
Lemma movers_cover : incl items (map key movers).
Proof.
  intros a Ha. destruct (served a Ha) as [t [i [Ht [<- [Hi Hl]]]]].
  apply in_map. apply filter_In. split; auto.
  destruct (chosen t) eqn:E; auto. destruct (uses_all t i Hi) as [sp Hs].
  apply (find_none _ _ E) in Hs. simpl in Hs.
  assert (existsb (Nat.eqb i) ls = true); [|congruence].
  apply existsb_exists. exists i. split; auto. apply Nat.eqb_refl.
Qed.

Definition pick (t : sent) : use := match chosen t with Some a => a | None => (O, Span 0 0) end.
Lemma mover_pick t : In t movers -> In t sch /\ well j t /\ In (pick t) (uses_of j t) /\ In (fst (pick t)) ls.
Proof.
  intros H. apply filter_In in H. destruct H as [H1 H2]. unfold pick.
  destruct (chosen t) eqn:E; [|discriminate]. destruct (chosen_in _ _ E).
  repeat split; auto; apply good; auto.
Qed.
Lemma picks_disjoint l : (forall t, In t l -> In t sch) -> disjoint (flat_map (uses_of j) l) ->
  disjoint (map pick (filter (fun t => match chosen t with Some _ => true | None => false end) l)).
Proof.
  intros Hl H. apply (pairs_pick _ (uses_of j) chosen) in H.
  - unfold disjoint. replace (map pick _) with
      (flat_map (fun x => match chosen x with Some a => [a] | None => [] end) l); auto.
    clear. induction l as [|t l IH]; simpl; auto. 
    destruct (chosen t) eqn:E; simpl; rewrite IH; auto. f_equal. unfold pick. rewrite E. reflexivity.
  - intros x a _ E. apply (chosen_in _ _ E).
Qed.

Definition on (i : nat) : list sent := filter (fun t => Nat.eqb (fst (pick t)) i) movers.
Lemma on_fits T i : makespan sch <= T -> sum (fun t => long (snd (pick t))) (on i) <= window T i.
Proof.
  intros HT. rewrite <- (sum_map pick (fun a : use => long (snd a))).
  apply fit_link.
  - assert (D : disjoint (map pick movers)) by (apply picks_disjoint; auto; apply good).
    unfold disjoint, on in *. clear - D. induction movers as [|t l IH]; simpl in *; auto.
    inversion D as [|? ? Hx Hr]; subst. destruct (Nat.eqb _ i); auto. simpl. constructor; auto.
    rewrite Forall_forall in *. intros b Hb. apply Hx. apply in_map_iff in Hb. destruct Hb as [y [<- Hy]].
    apply in_map. apply filter_In in Hy. tauto.
  - intros a Ha. apply in_map_iff in Ha. destruct Ha as [t [<- Ht]]. apply filter_In in Ht.
    destruct Ht as [Ht E]. apply Nat.eqb_eq in E. destruct (mover_pick t Ht) as [Hs [Hw [Hu _]]].
    destruct (pick t) as [i' sp] eqn:P. simpl in *. subst i'.
    destruct (uses_inside t Hw i sp Hu) as [_ [A1 [A2 A3]]]. pose proof (ends_makespan sch t Hs).
    pose proof (beta_0 (at_link i) (size j (what (tr (data t)))) (proj2 (sane_link i)) (sane_size _)).
    assert (0 <= beside i) by (unfold beside; destruct (model j); [apply sane_link|lia]).
    repeat split; auto; lia.
Qed.

Lemma on_takes i t : In t (on i) ->
  takes (size j (what (tr (data t)))) i <= long (snd (pick t)) /\ In t sch.
Proof.
  intros Ht. apply filter_In in Ht. destruct Ht as [Ht E]. apply Nat.eqb_eq in E.
  destruct (mover_pick t Ht) as [Hs [Hw [Hu _]]]. destruct (pick t) as [i' sp] eqn:P. simpl in *. subst i'.
  destruct (uses_inside t Hw i sp Hu) as [_ [_ [A2 _]]]. unfold takes. split; auto.
Qed.

Theorem passing_bytes T : makespan sch <= T ->
  sum weight items * picoseconds <= sum (fun i => bandwidth (at_link i) * window T i) ls.
Proof.
  intros HT.
  assert (H1 : sum weight items <= sum weight (map key movers)) by (apply sum_incl; auto using movers_cover).
  rewrite sum_map in H1.
  apply Z.le_trans with (picoseconds * sum (fun t => weight (key t)) movers); [unfold picoseconds; lia|].
  rewrite <- sum_mul. rewrite (sum_by (fun t => fst (pick t)) _ ls) by (auto; intros t Ht; apply mover_pick, Ht).
  apply sum_le. intros i Hi. fold (on i).
  apply Z.le_trans with (bandwidth (at_link i) * sum (fun t => long (snd (pick t))) (on i)).
  - rewrite <- sum_mul. apply sum_le. intros t Ht. destruct (on_takes i t Ht) as [H Hs].
    rewrite (weights t Hs). unfold takes in H.
    pose proof (beta_enough (at_link i) (size j (what (tr (data t)))) (proj2 (sane_link i))).
    assert (0 <= beside i) by (unfold beside; destruct (model j); [apply sane_link|lia]).
    pose proof (proj2 (sane_link i)). nia.
  - pose proof (on_fits T i HT). pose proof (proj2 (sane_link i)). nia.
Qed.

Theorem passing_items T least : makespan sch <= T -> 0 < least -> (forall a, In a items -> least <= weight a) ->
  Z.of_nat (length items) <= sum (fun i => window T i / takes least i) ls.
Proof.
  intros HT Hl Hleast.
  (* those that move items of this weight *)
  set (g := fun t => least <=? weight (key t)).
  assert (Hc : incl items (map key (filter g movers))).
  { intros a Ha. pose proof (movers_cover a Ha) as H. apply in_map_iff in H. destruct H as [t [<- Ht]].
    apply in_map, filter_In. split; auto. apply Z.leb_le. auto. }
  assert (H1 : (length items <= length (filter g movers))%nat).
  { rewrite <- (map_length key (filter g movers)). apply NoDup_incl_length; auto. }
  apply Z.le_trans with (sum (fun _ => 1) (filter g movers)); [rewrite sum_one; lia|].
  rewrite (sum_by (fun t => fst (pick t)) _ ls) by
    (auto; intros t Ht; apply filter_In in Ht; apply mover_pick, Ht).
  apply sum_le. intros i Hi. rewrite sum_one.
  assert (Hb : 0 < takes least i).
  { unfold takes. pose proof (beta_pos (at_link i) least (proj2 (sane_link i)) Hl).
    unfold beside. pose proof (sane_link i). destruct (model j); lia. }
  apply Z.div_le_lower_bound; auto.
  apply Z.le_trans with (sum (fun t => long (snd (pick t))) (filter (fun t => Nat.eqb (fst (pick t)) i) (filter g movers))).
  - rewrite <- sum_one, <- sum_mul. apply sum_le. intros t Ht. apply filter_In in Ht. destruct Ht as [Ht E].
    apply filter_In in Ht. destruct Ht as [Ht G]. apply Z.leb_le in G.
    destruct (on_takes i t) as [H Hs]; [apply filter_In; auto|]. rewrite (weights t Hs) in G.
    pose proof (beta_mono (at_link i) _ _ (proj2 (sane_link i)) G). unfold takes in *. lia.
  - apply Z.le_trans with (sum (fun t => long (snd (pick t))) (on i)); [|apply on_fits; auto].
    unfold on. assert (P : forall t, In t movers -> 0 <= long (snd (pick t))).
    { intros t Ht. destruct (mover_pick t Ht) as [_ [Hw [Hu _]]]. destruct (pick t) as [i' sp].
      destruct (uses_inside t Hw i' sp Hu) as [_ [_ [A2 _]]]. simpl.
      pose proof (beta_0 (at_link i') (size j (what (tr (data t)))) (proj2 (sane_link i')) (sane_size _)).
      assert (0 <= beside i') by (unfold beside; destruct (model j); [apply sane_link|lia]). lia. }
    clear - P. induction movers as [|t l IH]; simpl; [lia|].
    assert (IH' := IH (fun t Ht => P t (or_intror Ht))). pose proof (P t (or_introl eq_refl)).
    destruct (g t); simpl; destruct (Nat.eqb _ i); simpl; lia.
Qed.
End Items.
End Job.
