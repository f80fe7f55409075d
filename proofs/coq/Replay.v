(** A function that decides whether a timed schedule with routes is right: SPEC 2 to 6, under
    blocking and pipelined. Left out: what Schedule.v leaves out. *)
From Coq Require Import Bool List ZArith Lia Permutation Sorted Mergesort Orders.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds.
Import ListNotations.
Open Scope Z_scope.

(** ** The order of transfers that end at one instant does not matter *)

Lemma add_comm a : forall b, add a b = add b a.
Proof. induction a as [|x a IH]; intros [|y b]; simpl; auto. rewrite IH. f_equal. lia. Qed.
Lemma add_assoc a : forall b c, add (add a b) c = add a (add b c).
Proof. induction a as [|x a IH]; intros [|y b] [|z c]; simpl; auto. rewrite IH. f_equal. lia. Qed.

Definition reduces (t : timed) : Prop := op (tr t) = Reduce.

Lemma fold_permuted H ws ws' : Permutation ws ws' -> (forall t, In t ws -> reduces t) ->
  forall acc, fold_left (after H) ws acc = fold_left (after H) ws' acc.
Proof.
  induction 1 as [|t ws ws' _ IH|a b ws|ws1 ws2 ws3 P1 IH1 P2 IH2]; intros Hr acc; simpl; auto.
  - apply IH. intros; apply Hr; right; auto.
  - f_equal. unfold after. rewrite (Hr a), (Hr b) by (simpl; auto). unfold put.
    destruct (H (begins a) _ _), (H (begins b) _ _), acc; auto.
    f_equal. rewrite !add_assoc. f_equal. apply add_comm.
  - rewrite IH1 by auto. apply IH2. intros t Ht. apply Hr. apply Permutation_sym in P1. eapply Permutation_in; eauto.
Qed.

Lemma filter_permuted {A} (f : A -> bool) l l' : Permutation l l' -> Permutation (filter f l) (filter f l').
Proof.
  induction 1 as [|x l l' _ IH|a b l|l1 l2 l3 _ IH1 _ IH2]; simpl; auto.
  - destruct (f x); auto.
  - destruct (f a), (f b); auto. apply perm_swap.
  - eapply Permutation_trans; eauto.
Qed.

Lemma op_dec t : {op (tr t) = Copy} + {reduces t}.
Proof. unfold reduces. destruct (op (tr t)); auto. Qed.

(** Either one copy, or reductions alone. *)
Lemma copy_or_reduce (ws : list timed) : (forall t, In t ws -> op (tr t) = Copy -> ws = [t]) ->
  (exists t, ws = [t]) \/ (forall t, In t ws -> reduces t).
Proof.
  intros H. destruct (Exists_dec (fun t => op (tr t) = Copy) ws) as [E|E].
  - intros t. destruct (op_dec t) as [|R]; auto. right. unfold reduces in R. congruence.
  - apply Exists_exists in E. destruct E as [t [Ht Ho]]. left. eauto.
  - right. intros t Ht. destruct (op_dec t); auto. destruct E. apply Exists_exists. eauto.
Qed.

Lemma execution_permuted s0 ts ts' H : Permutation ts ts' -> execution s0 ts H -> execution s0 ts' H.
Proof.
  intros P [H0 Hx]. split; auto. intros x v k Hpos ws. destruct (Hx x v k Hpos) as [A [B C]].
  pose proof (filter_permuted (into v k x) _ _ P) as Q. fold ws in Q.
  destruct (copy_or_reduce _ B) as [[t E]|R].
  - rewrite E in *. apply Permutation_length_1_inv in Q. rewrite Q. auto.
  - rewrite <- (fold_permuted H _ _ Q R). repeat split; auto.
    + intros t Ht Ho. apply Permutation_sym in Q. pose proof (Permutation_in _ Q Ht) as Hi.
      pose proof (R t Hi). unfold reduces in *. congruence.
    + intros Hne. apply C. intros E. rewrite E in Q. apply Permutation_nil in Q. auto.
Qed.

(** ** One pass accepts what has an execution *)

Lemma none_stays H ws : (forall t, In t ws -> reduces t) -> fold_left (after H) ws None = None.
Proof.
  induction ws as [|t ws IH]; simpl; intros Hr; auto. unfold after at 2.
  assert (R : op (tr t) = Reduce) by (apply Hr; auto). rewrite R. unfold put.
  destruct (H (begins t) (src (tr t)) (what (tr t))); apply IH; auto.
Qed.

Section Complete.
Variable s0 : state.
Variable H : Z -> state.
Variable all : list timed.
Hypothesis exec : execution s0 all H.
Hypothesis spans : forall t, In t all -> 0 <= begins t < ends t.

(** Those of [done] are carried out, and nothing of [ts] ends before [last]. *)
Record at_instant (done ts : list timed) (h : log) (last : Z) : Prop := {
  parts : all = done ++ ts;
  now : 0 <= last;
  past : forall v k x, 0 <= x < last -> at_time x (h v k) = H x v k;
  present : forall v k, newest (h v k) =
    if last =? 0 then H 0 v k else fold_left (after H) (filter (into v k last) done) (H (last - 1) v k);
  newest_is : forall v k, top (h v k) <= last;
  marks : forall v k o w l, 0 < last -> h v k = (last, (o, w)) :: l ->
    exists t, In t (filter (into v k last) done) /\ op (tr t) = o;
  over : forall t, In t done -> ends t <= last;
  ahead : forall t, In t ts -> last <= ends t }.

Lemma none_into v k x ts : (forall t, In t ts -> ends t <> x) -> filter (into v k x) ts = [].
Proof.
  induction ts as [|t ts IH]; simpl; intros Hn; auto. unfold into at 1.
  rewrite (proj2 (Z.eqb_neq _ _) (Hn t (or_introl eq_refl))), andb_false_r. auto.
Qed.

Lemma quiet v k x : 0 < x -> (forall t, In t all -> ends t <> x) -> H x v k = H (x - 1) v k.
Proof. intros Hx Hn. destruct (proj2 exec x v k Hx) as [-> _]. rewrite none_into by auto. reflexivity. Qed.

(** Nothing ends until [next]. *)
Lemma stands done ts h last next : at_instant done ts h last -> last < next ->
  (forall t, In t ts -> next <= ends t) ->
  forall v k x, last <= x < next -> H x v k = newest (h v k).
Proof.
  intros I Hn Ha v k x Hx.
  assert (Hall : forall t y, In t all -> last < y < next -> ends t <> y).
  { intros t y Ht Hy E. rewrite (parts _ _ _ _ I) in Ht. apply in_app_or in Ht. destruct Ht as [Ht|Ht].
    - pose proof (over _ _ _ _ I t Ht). lia.
    - specialize (Ha t Ht). lia. }
  replace x with (last + (x - last)) by lia. assert (Hd : 0 <= x - last) by lia.
  assert (Hu : x - last < next - last) by lia. revert Hd Hu. generalize (x - last) as d. clear x Hx.
  intros d Hd. pattern d. apply natlike_ind; [| |exact Hd].
  - intros _. rewrite Z.add_0_r, (present _ _ _ _ I). destruct (Z.eqb_spec last 0) as [->|Hz]; auto.
    pose proof (now _ _ _ _ I). destruct (proj2 exec last v k ltac:(lia)) as [-> _].
    rewrite (parts _ _ _ _ I), filter_app. rewrite (none_into v k last ts), app_nil_r; auto.
    intros t Ht. specialize (Ha t Ht). lia.
  - clear d Hd. intros d Hd IH Hu. rewrite quiet.
    + replace (last + Z.succ d - 1) with (last + d) by lia. apply IH. lia.
    + pose proof (now _ _ _ _ I). lia.
    + intros t Ht. apply Hall; auto. lia.
Qed.

Lemma advance done ts h last next : at_instant done ts h last -> last < next ->
  (forall t, In t ts -> next <= ends t) -> at_instant done ts h next.
Proof.
  intros I Hn Ha. pose proof (stands _ _ _ _ _ I Hn Ha) as S. pose proof (now _ _ _ _ I) as N. constructor.
  - apply I.
  - lia.
  - intros v k x Hx. destruct (Z_lt_le_dec x last); [apply (past _ _ _ _ I); lia|].
    rewrite (S v k x) by lia. apply at_time_newest. pose proof (newest_is _ _ _ _ I v k). lia.
  - intros v k. rewrite (proj2 (Z.eqb_neq next 0)) by lia. rewrite none_into.
    + simpl. symmetry. apply S. lia.
    + intros t Ht. pose proof (over _ _ _ _ I t Ht). lia.
  - intros v k. pose proof (newest_is _ _ _ _ I v k). lia.
  - intros v k o w l _ E. pose proof (newest_is _ _ _ _ I v k) as Q. rewrite E in Q. simpl in Q. lia.
  - intros t Ht. pose proof (over _ _ _ _ I t Ht). lia.
  - auto.
Qed.

(** The transfer that comes next and ends at this instant is accepted. *)
Lemma accepts done t ts h : at_instant done (t :: ts) h (ends t) ->
  exists h', write h t = Some h' /\ at_instant (done ++ [t]) ts h' (ends t).
Proof.
  intros I. assert (Hin : In t all) by (rewrite (parts _ _ _ _ I); apply in_or_app; right; left; auto).
  pose proof (spans t Hin) as Hs. set (v := dst (tr t)). set (k := what (tr t)).
  assert (Hme : into v k (ends t) t = true).
  { unfold into. rewrite Z.eqb_refl, (proj2 (same_slot_spec _ _)) by reflexivity. reflexivity. }
  destruct (proj2 exec (ends t) v k ltac:(lia)) as [Hf [Hc Hd]].
  rewrite (parts _ _ _ _ I) in Hf, Hc, Hd. rewrite filter_app in Hf, Hc, Hd. simpl in Hf, Hc, Hd.
  rewrite Hme in Hf, Hc, Hd. set (W := filter (into v k (ends t)) done) in *.
  set (R := filter (into v k (ends t)) ts) in *.
  assert (Hne : W ++ t :: R <> []) by (destruct W; discriminate). specialize (Hd Hne).
  assert (Htin : In t (W ++ t :: R)) by (apply in_or_app; right; left; auto).
  pose proof (past _ _ _ _ I (src (tr t)) k (begins t) ltac:(lia)) as Hread.
  pose proof (present _ _ _ _ I v k) as Hnew. rewrite (proj2 (Z.eqb_neq (ends t) 0)) in Hnew by lia. fold W in Hnew.
  set (acc := fold_left (after H) W (H (ends t - 1) v k)) in *.
  assert (Hw : exists w, after H acc t = Some w).
  { rewrite fold_left_app in Hf. simpl in Hf. fold acc in Hf.
    destruct (after H acc t) as [w|] eqn:E; [eauto|]. exfalso. apply Hd. rewrite Hf.
    destruct (copy_or_reduce _ Hc) as [[t' E']|Hr].
    - destruct W; [|destruct W; discriminate]. simpl in E'. injection E' as _ E'. rewrite E'. reflexivity.
    - apply none_stays. intros t' Ht'. apply Hr. apply in_or_app. right; right; auto. }
  destruct Hw as [w Hw].
  assert (Hpush : write h t = Some (push h v k (ends t, (op (tr t), w)))).
  { unfold write. fold v k. rewrite Hread.
    assert (Hput : put (op (tr t)) (H (begins t) (src (tr t)) k)
       (match h v k with (_, (_, w0)) :: _ => Some w0 | [] => None end) = Some w).
    { change (match h v k with (_, (_, w0)) :: _ => Some w0 | [] => None end) with (newest (h v k)).
      rewrite Hnew. exact Hw. }
    rewrite Hput. rewrite (proj2 (Z.leb_le 0 _)), (proj2 (Z.ltb_lt _ _)) by lia. simpl.
    destruct (h v k) as [|[y [o u]] l] eqn:E; [reflexivity|].
    destruct (Z.eqb_spec y (ends t)) as [->|]; [|reflexivity].
    destruct (marks _ _ _ _ I v k o u l ltac:(lia) E) as [t' [Ht' Ho]]. fold W in Ht'.
    assert (L : (2 <= length (W ++ t :: R))%nat).
    { rewrite app_length. simpl. destruct W; [destruct Ht'|simpl; lia]. }
    destruct o; [|destruct (op (tr t)) eqn:Et; [|reflexivity]]; exfalso.
    - rewrite (Hc t' (in_or_app _ _ _ (or_introl Ht')) Ho) in L. simpl in L. lia.
    - rewrite (Hc t Htin Et) in L. simpl in L. lia. }
  exists (push h v k (ends t, (op (tr t), w))). split; [exact Hpush|].
  assert (Hother : forall v' k', same_slot (v, k) (v', k') = false ->
            filter (into v' k' (ends t)) (done ++ [t]) = filter (into v' k' (ends t)) done).
  { intros v' k' E. rewrite filter_app. simpl. unfold into at 2.
    change (slot (tr t)) with (v, k). rewrite E. simpl. apply app_nil_r. }
  constructor.
  - rewrite (parts _ _ _ _ I), <- app_assoc. reflexivity.
  - lia.
  - intros v' k' x Hx. rewrite at_time_push by (simpl; lia). apply (past _ _ _ _ I); auto.
  - intros v' k'. rewrite (proj2 (Z.eqb_neq (ends t) 0)) by lia. unfold push.
    destruct (same_slot (v, k) (v', k')) eqn:E.
    + apply same_slot_spec in E. injection E as <- <-. rewrite filter_app. simpl. rewrite Hme.
      fold W. rewrite fold_left_app. fold acc. simpl. rewrite Hw. reflexivity.
    + rewrite Hother by auto. pose proof (present _ _ _ _ I v' k') as Q.
      rewrite (proj2 (Z.eqb_neq (ends t) 0)) in Q by lia. exact Q.
  - intros v' k'. unfold push. destruct (same_slot _ _); simpl; [lia|apply I].
  - intros v' k' o u l Hp E. unfold push in E. destruct (same_slot (v, k) (v', k')) eqn:Es.
    + injection E as <- _ _. apply same_slot_spec in Es. injection Es as <- <-. exists t. split; auto.
      apply filter_In. split; auto. apply in_or_app. right; left; auto.
    + rewrite Hother by auto. apply (marks _ _ _ _ I) with (w := u) (l := l); auto.
  - intros t' Ht'. apply in_app_or in Ht'. destruct Ht' as [Ht'|[<-|[]]]; [apply (over _ _ _ _ I t' Ht')|lia].
  - intros t' Ht'. apply (ahead _ _ _ _ I). right; auto.
Qed.

Lemma pass_accepts ts : forall done h last, at_instant done ts h last ->
  StronglySorted (fun a b => ends a <= ends b) ts ->
  exists h', pass h last ts = Some h' /\ forall v k x, 0 <= x -> at_time x (h' v k) = H x v k.
Proof.
  induction ts as [|t ts IH]; intros done h last I Hs.
  - exists h. split; [reflexivity|]. intros v k x Hx. destruct (Z_lt_le_dec x last) as [Hl|Hl].
    + apply (past _ _ _ _ I). lia.
    + rewrite (stands _ _ _ _ (x + 1) I ltac:(lia)) by (simpl; tauto || lia).
      apply at_time_newest. pose proof (newest_is _ _ _ _ I v k). lia.
  - inversion Hs as [|? ? Hs' Hf]; subst. rewrite Forall_forall in Hf.
    pose proof (ahead _ _ _ _ I t (or_introl eq_refl)) as Hl.
    assert (I' : at_instant done (t :: ts) h (ends t)).
    { destruct (Z_le_lt_eq_dec _ _ Hl) as [Hlt|E]; [|rewrite <- E; exact I].
      apply (advance _ _ _ _ _ I Hlt). intros t' [<-|Ht']; [lia|]. apply Hf, Ht'. }
    destruct (accepts _ _ _ _ I') as [h1 [Hw I1]].
    destruct (IH _ _ _ I1 Hs') as [h' [Hp Hx]]. exists h'. split; auto.
    simpl. rewrite (proj2 (Z.leb_le _ _) Hl), Hw. exact Hp.
Qed.

Theorem pass_complete h : (forall v k, h v k = match s0 v k with Some w => [(0, (Copy, w))] | None => [] end) ->
  StronglySorted (fun a b => ends a <= ends b) all ->
  exists h', pass h 0 all = Some h' /\ forall v k x, 0 <= x -> at_time x (h' v k) = H x v k.
Proof.
  intros Hh Hs. apply (pass_accepts all [] h 0); auto. constructor; auto; try (simpl; tauto || lia).
  - intros v k. simpl. rewrite (proj1 exec), Hh. destruct (s0 v k); reflexivity.
  - intros v k. rewrite Hh. destruct (s0 v k); simpl; lia.
  - intros t Ht. specialize (spans t Ht). lia.
Qed.
End Complete.

(** ** The checker *)

Definition book := M.t versions.
Definition look_in (m : book) : log := fun v k => match M.find (v, k) m with Some l => l | None => [] end.
Definition open_book (l : list (rank * chunk * value)) : book :=
  fold_right (fun e m => M.add (fst e) [(0, (Copy, snd e))] m) (M.empty versions) l.

(** [write] and [pass] of Timed.v on a map. *)
Definition write_in (m : book) (t : timed) : option book :=
  let v := dst (tr t) in let k := what (tr t) in
  let h := look_in m v k in
  let clash := match h with
               | (y, (o, _)) :: _ => (y =? ends t) && negb (match o, op (tr t) with Reduce, Reduce => true | _, _ => false end)
               | [] => false
               end in
  match put (op (tr t)) (at_time (begins t) (look_in m (src (tr t)) k)) (newest h) with
  | Some w => if (0 <=? begins t) && (begins t <? ends t) && negb clash
              then Some (M.add (v, k) ((ends t, (op (tr t), w)) :: h) m) else None
  | None => None
  end.
Fixpoint pass_in (m : book) (last : Z) (ts : list timed) : option book :=
  match ts with
  | [] => Some m
  | t :: ts => if last <=? ends t then
                 match write_in m t with Some m => pass_in m (ends t) ts | None => None end
               else None
  end.

Definition like (m : book) (h : log) : Prop := forall v k, look_in m v k = h v k.

Lemma find_add_book (a b : rank * chunk) (w : versions) m :
  M.find b (M.add a w m) = if same_slot a b then Some w else M.find b m.
Proof.
  destruct (same_slot a b) eqn:E.
  - apply same_slot_spec in E. subst. apply F.add_eq_o. split; reflexivity.
  - apply F.add_neq_o. intros [H1 H2].
    enough (same_slot a b = true) by congruence.
    apply same_slot_spec. destruct a, b. simpl in *. congruence.
Qed.

Lemma write_like m h t : like m h ->
  match write_in m t, write h t with
  | Some m', Some h' => like m' h'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros L. unfold write_in, write. rewrite !L.
  change (match h (dst (tr t)) (what (tr t)) with (_, (_, w)) :: _ => Some w | [] => None end)
    with (newest (h (dst (tr t)) (what (tr t)))).
  destruct (put _ _ _) as [w|]; auto. destruct (_ && _ && _); auto.
  intros v k. unfold look_in. rewrite find_add_book. unfold push.
  destruct (same_slot _ _) eqn:E.
  - apply same_slot_spec in E. injection E as <- <-. reflexivity.
  - apply L.
Qed.

Lemma pass_like ts : forall m h last, like m h ->
  match pass_in m last ts, pass h last ts with
  | Some m', Some h' => like m' h'
  | None, None => True
  | _, _ => False
  end.
Proof.
  induction ts as [|t ts IH]; simpl; intros m h last L; auto.
  destruct (last <=? ends t); auto. pose proof (write_like m h t L) as W.
  destruct (write_in m t), (write h t); [apply IH, W|destruct W|destruct W|exact I].
Qed.

Definition at_start (l : list (rank * chunk * value)) : log :=
  fun v k => match lookup l v k with Some w => [(0, (Copy, w))] | None => [] end.
Lemma open_like l : like (open_book l) (at_start l).
Proof.
  intros v k. unfold look_in, at_start. induction l as [|[s w] l IH]; [reflexivity|].
  cbn [lookup open_book fold_right fst snd].
  rewrite find_add_book. destruct (same_slot s (v, k)); auto.
Qed.

Module ByEnd <: TotalLeBool.
  Definition t := sent.
  Definition leb (a b : sent) : bool := ends (data a) <=? ends (data b).
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ByEnd.
Module Sorting := Sort ByEnd.

Section Job.
Variable j : job.

Fixpoint leadsb (u : nat) (r : list nat) (v : nat) : bool :=
  match r with
  | [] => (u =? v)%nat
  | i :: r => (i <? length (links j))%nat && (Cut.src (at_link j i) =? u)%nat && leadsb (Cut.dst (at_link j i)) r v
  end.
Lemma leadsb_spec r : forall u v, leadsb u r v = true <-> leads j u r v.
Proof.
  induction r as [|i r IH]; simpl; intros u v; [apply Nat.eqb_eq|].
  rewrite !andb_true_iff, Nat.ltb_lt, Nat.eqb_eq, IH. tauto.
Qed.

Definition wellb (t : sent) : bool :=
  let x := tr (data t) in
  (what x <? length (sizes j))%nat && (src x <? nodes j)%nat && (dst x <? nodes j)%nat && negb (src x =? dst x)%nat &&
  leadsb (src x) (route t) (dst x) && distinct (visited j (src x) (route t)) &&
  (0 <=? begins (data t)) && (begins (data t) <? ends (data t)) &&
  (ends (data t) =? begins (data t) + duration j (size j (what x)) (route t)) &&
  forallb (fun v => negb (is_rank j v) || (arrival j v <=? begins (data t))) (visited j (src x) (route t)).
Lemma wellb_spec t : wellb t = true <-> well j t.
Proof.
  unfold wellb, well. rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq, leadsb_spec, distinct_spec,
    Z.leb_le, Z.ltb_lt, Z.eqb_eq, forallb_forall.
  enough (E : forall v, negb (is_rank j v) || (arrival j v <=? begins (data t)) = true <->
      (is_rank j v = true -> arrival j v <= begins (data t))).
  { setoid_rewrite E. tauto. }
  intros v. destruct (is_rank j v); simpl; rewrite ?Z.leb_le; intuition congruence.
Qed.

Definition apartb (a b : span) : bool := (first a + long a <=? first b) || (first b + long b <=? first a).
Lemma apartb_spec a b : apartb a b = true <-> apart a b.
Proof. unfold apartb, apart. rewrite orb_true_iff, !Z.leb_le. tauto. Qed.
Fixpoint all_apart (l : list span) : bool :=
  match l with [] => true | a :: l => forallb (apartb a) l && all_apart l end.
Lemma all_apart_spec l : all_apart l = true <-> ForallOrdPairs apart l.
Proof.
  induction l as [|a l IH]; simpl; [split; constructor|].
  rewrite andb_true_iff, IH, forallb_forall. split.
  - intros [A B]. constructor; auto. rewrite Forall_forall. intros x Hx. apply apartb_spec; auto.
  - intros H. inversion H as [|? ? A B]; subst. rewrite Forall_forall in A. split; auto.
    intros x Hx. apply apartb_spec; auto.
Qed.

Definition of_link (i : nat) (us : list use) : list span := map snd (filter (fun a => (fst a =? i)%nat) us).
Definition disjointb (us : list use) : bool :=
  forallb (fun a => (fst a <? length (links j))%nat) us &&
  forallb (fun i => all_apart (of_link i us)) (seq 0 (length (links j))).
Lemma disjoint_by_link us : disjoint us <-> forall i, ForallOrdPairs apart (of_link i us).
Proof.
  unfold disjoint, of_link. induction us as [|[i a] us IH]; simpl.
  - split; intros; constructor.
  - split.
    + intros H i'. inversion H as [|? ? A B]; subst.
      rewrite Forall_forall in A. pose proof (proj1 IH B i') as Q.
      destruct (Nat.eqb_spec i i') as [->|]; simpl; auto. constructor; auto.
      rewrite Forall_forall. intros x Hx. apply in_map_iff in Hx. destruct Hx as [[i2 y] [<- Hy]].
      apply filter_In in Hy. destruct Hy as [Hy E]. apply Nat.eqb_eq in E. simpl in *. subst i2.
      apply (A _ Hy). reflexivity.
    + intros H. constructor.
      * rewrite Forall_forall. intros [i' b] Hb E. simpl in E. subst i'. specialize (H i).
        rewrite Nat.eqb_refl in H. simpl in H. inversion H as [|? ? A B]; subst.
        rewrite Forall_forall in A. apply A. apply in_map_iff. exists (i, b). split; auto.
        apply filter_In. split; auto. apply Nat.eqb_refl.
      * apply IH. intros i'. specialize (H i'). destruct (i =? i')%nat; auto. simpl in H. inversion H; auto.
Qed.
Lemma disjointb_spec us : (forall a, In a us -> (fst a < length (links j))%nat) ->
  disjointb us = true <-> disjoint us.
Proof.
  intros Hin. unfold disjointb. rewrite andb_true_iff, !forallb_forall, disjoint_by_link. split.
  - intros [_ H] i. destruct (Nat.lt_ge_cases i (length (links j))) as [L|L].
    + apply all_apart_spec, H, in_seq. lia.
    + unfold of_link. replace (filter _ us) with (@nil use); [constructor|]. symmetry.
      clear - Hin L. induction us as [|a us IH]; simpl; auto.
      pose proof (Hin a (or_introl eq_refl)). destruct (Nat.eqb_spec (fst a) i); [lia|].
      apply IH. intros; apply Hin; right; auto.
  - intros H. split.
    + intros a Ha. apply Nat.ltb_lt, Hin, Ha.
    + intros i _. apply all_apart_spec, H.
Qed.

(** A port is fullest when something begins to use it. *)
Definition portb (ls : list nat) (c : nat) (us : list use) : bool :=
  let vs := filter (fun a => existsb (Nat.eqb (fst a)) ls) us in
  forallb (fun a => (length (filter (uses_at ls (first (snd a))) vs) <=? c)%nat) vs.
Lemma filter_filter {A} (f g : A -> bool) l : (forall x, f x = true -> g x = true) -> filter f (filter g l) = filter f l.
Proof.
  intros H. induction l as [|a l IH]; simpl; auto. destruct (g a) eqn:G; simpl; rewrite IH; auto.
  destruct (f a) eqn:E; auto. rewrite (H a E) in G. discriminate.
Qed.
Lemma filter_le {A} (f g : A -> bool) l : (forall x, In x l -> f x = true -> g x = true) ->
  (length (filter f l) <= length (filter g l))%nat.
Proof.
  induction l as [|a l IH]; simpl; intros H; auto.
  assert (I := IH (fun x Hx => H x (or_intror Hx))). specialize (H a (or_introl eq_refl)).
  destruct (f a), (g a); simpl; try lia; specialize (H eq_refl); discriminate.
Qed.
Lemma latest_of (us : list use) : us <> [] -> exists a, In a us /\ forall b, In b us -> first (snd b) <= first (snd a).
Proof.
  induction us as [|a us IH]; intros Hne; [congruence|].
  destruct us as [|b l]; [exists a; split; [left; auto|intros b [->|[]]; lia]|].
  destruct IH as [c [Hc Hm]]; [congruence|].
  destruct (Z_le_gt_dec (first (snd a)) (first (snd c))).
  - exists c. split; [right; auto|]. intros d [<-|Hd]; auto.
  - exists a. split; [left; auto|]. intros d [<-|Hd]; [lia|]. specialize (Hm d Hd). lia.
Qed.
Lemma portb_spec ls c us : portb ls c us = true <-> forall x, (length (filter (uses_at ls x) us) <= c)%nat.
Proof.
  unfold portb. set (g := fun a : use => existsb (Nat.eqb (fst a)) ls).
  assert (G : forall x a, uses_at ls x a = true -> g a = true).
  { intros x a H. unfold uses_at in H. apply andb_true_iff in H. destruct H as [H _].
    apply andb_true_iff in H. apply H. }
  rewrite forallb_forall. split.
  - intros H x. destruct (filter (uses_at ls x) us) as [|u l] eqn:E; [simpl; lia|].
    destruct (latest_of (filter (uses_at ls x) us)) as [a [Ha Hm]]; [congruence|]. rewrite <- E.
    pose proof Ha as Ha'. apply filter_In in Ha. destruct Ha as [Ha Hu].
    specialize (H a). rewrite filter_In in H. specialize (H (conj Ha (G x a Hu))). apply Nat.leb_le in H.
    rewrite filter_filter in H by (intros; eapply G; eauto).
    eapply Nat.le_trans; [|exact H]. apply filter_le. intros b Hb Hbx.
    specialize (Hm b (proj2 (filter_In _ _ _) (conj Hb Hbx))). unfold uses_at in *.
    rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in *. intuition lia.
  - intros H a Ha. apply Nat.leb_le. rewrite filter_filter by (intros; eapply G; eauto). apply H.
Qed.

Definition within_portsb (us : list use) : bool := forallb (fun p => portb (fst p) (snd p) us) (ports j).
Lemma within_portsb_spec us : within_portsb us = true <-> within_ports j us.
Proof.
  unfold within_portsb, within_ports. rewrite forallb_forall. split.
  - intros H ls c Hin. apply portb_spec. apply (H (ls, c) Hin).
  - intros H [ls c] Hin. apply portb_spec. apply (H ls c Hin).
Qed.

Definition goal_met (m : book) (T : Z) : bool :=
  forallb (fun e => match at_time T (look_in m (fst (fst e)) (snd (fst e))) with
                    | Some got => agreesb j got (snd e)
                    | None => false
                    end) (post j).

Definition data_met (sch : list sent) : bool :=
  match pass_in (open_book (pre j)) 0 (map data (Sorting.sort sch)) with
  | Some m => goal_met m (makespan sch)
  | None => false
  end.

Definition replay (sch : list sent) : bool :=
  forallb wellb sch && disjointb (uses j sch) && within_portsb (uses j sch) && data_met sch.

Lemma uses_links sch : (forall t, In t sch -> well j t) -> forall a, In a (uses j sch) -> (fst a < length (links j))%nat.
Proof.
  intros Hw a Ha. apply in_flat_map in Ha. destruct Ha as [t [Ht Ha]].
  destruct (Hw t Ht) as [_ [Hl _]]. eapply leads_in; eauto.
  enough (E : forall hs b from, In a (busy_hops j b from hs) -> In (fst a) (concat hs)).
  { rewrite <- (concat_hops j (route t)). eapply E. exact Ha. }
  clear. induction hs as [|h hs IH]; simpl; intros b from H; [tauto|]. apply in_app_or in H. apply in_or_app.
  destruct H as [H|H]; [left|right; eauto]. revert H. generalize (slowest j b h) as s. intros s. revert from.
  induction h as [|i h IHh]; simpl; intros from; [tauto|]. intros [<-|H]; [left; auto|right; eauto].
Qed.

Lemma sorted_ends sch : StronglySorted (fun a b => ends a <= ends b) (map data (Sorting.sort sch)).
Proof.
  pose proof (Sorting.StronglySorted_sort sch) as S. 
  assert (T : Relations_1.Transitive (fun x y => is_true (ByEnd.leb x y))).
  { intros a b c. unfold is_true, ByEnd.leb. rewrite !Z.leb_le. lia. }
  specialize (S T). induction S as [|t l _ IH Hf]; simpl; constructor; auto.
  rewrite Forall_forall in *. intros x Hx. apply in_map_iff in Hx. destruct Hx as [y [<- Hy]].
  specialize (Hf y Hy). unfold is_true, ByEnd.leb in Hf. apply Z.leb_le, Hf.
Qed.

(** 5 and 6, for any times. *)
Definition executes (sch : list sent) : Prop :=
  exists H, execution (lookup (pre j)) (map data sch) H /\
    forall v k w, In ((v, k), w) (post j) ->
      exists got, H (makespan sch) v k = Some got /\ agrees j got w.

Lemma data_sound sch : data_met sch = true -> executes sch.
Proof.
  unfold data_met. intros Hm. destruct (pass_in _ _ _) as [m|] eqn:E; [|discriminate].
  pose proof (pass_like (map data (Sorting.sort sch)) _ _ 0 (open_like (pre j))) as L. rewrite E in L.
  destruct (pass (at_start (pre j)) 0 (map data (Sorting.sort sch))) as [h'|] eqn:E'; [|tauto].
  exists (fun x v k => at_time x (h' v k)). split.
  - apply (execution_permuted _ (map data (Sorting.sort sch))).
    + apply Permutation_map, Permutation_sym, Sorting.Permuted_sort.
    + apply (pass_sound _ (at_start (pre j))); auto.
  - intros v k w Hin. unfold goal_met in Hm. rewrite forallb_forall in Hm. specialize (Hm _ Hin). cbn [fst snd] in Hm.
    rewrite L in Hm. destruct (at_time _ _) as [got|]; [|discriminate]. exists got. split; auto.
    apply agreesb_spec, Hm.
Qed.

Lemma data_complete sch : (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  executes sch -> data_met sch = true.
Proof.
  intros W [H [He Hg]]. unfold data_met.
  assert (P : Permutation (map data sch) (map data (Sorting.sort sch))) by apply Permutation_map, Sorting.Permuted_sort.
  destruct (pass_complete (lookup (pre j)) H (map data (Sorting.sort sch))
              (execution_permuted _ _ _ _ P He)) with (h := at_start (pre j)) as [h' [Hps Hx]].
  - intros t Ht. apply Permutation_sym in P. pose proof (Permutation_in _ P Ht) as Hin.
    apply in_map_iff in Hin. destruct Hin as [s [<- Hs]]. apply W, Hs.
  - reflexivity.
  - apply sorted_ends.
  - pose proof (pass_like (map data (Sorting.sort sch)) _ _ 0 (open_like (pre j))) as L. rewrite Hps in L.
    destruct (pass_in _ _ _) as [m|]; [|tauto]. unfold goal_met. apply forallb_forall.
    intros [[v k] w] Hin. cbn [fst snd]. rewrite L, Hx by apply makespan_0.
    destruct (Hg _ _ _ Hin) as [got [-> Ha]]. apply agreesb_spec, Ha.
Qed.

(** What the checker accepts is right, and it accepts what is right. *)
Theorem replay_sound sch : replay sch = true -> right j sch.
Proof.
  unfold replay. rewrite !andb_true_iff, forallb_forall. intros [[[Hw Hd] Hp] Hm].
  assert (W : forall t, In t sch -> well j t) by (intros t Ht; apply wellb_spec, Hw, Ht).
  split; [exact W|]. repeat split.
  - apply disjointb_spec; [apply uses_links, W|assumption].
  - apply within_portsb_spec, Hp.
  - apply data_sound, Hm.
Qed.

Theorem replay_complete sch : right j sch -> replay sch = true.
Proof.
  intros [W [Hd [Hp He]]]. unfold replay. rewrite !andb_true_iff, forallb_forall. repeat split.
  - intros t Ht. apply wellb_spec, W, Ht.
  - apply disjointb_spec; [apply uses_links, W|assumption].
  - apply within_portsb_spec, Hp.
  - apply data_complete; auto. intros t Ht. apply W, Ht.
Qed.
End Job.
