(** The lemma (late) of package cert: of an allreduce some of whose members arrive at D or later,
    n-1+l transfers of each chunk begin at D or later, of n members of which l are late; and
    the part of the rule volume that rests on it. *)
From Coq Require Import Bool List ZArith Lia FinFun.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay Adding Loose Coverage Cover Lanes Free Partition Sharing.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Variable D : Z.
Variable members : list nat.

Definition is_late (v : nat) : bool := D <=? arrival j v.
Definition lates : list nat := filter is_late members.

(** Each member's contribution is with it alone at the start, and each ends with all. *)
Definition all_reduce (k : nat) : bool :=
  forallb (fun m => forallb (fun e => negb (containsb (snd e) m) || (fst e =? m)%nat) (start_of j k)) members &&
  forallb (fun m => existsb (fun e => (fst e =? m)%nat && forallb (containsb (snd e)) members) (goal_of j k)) members.

Section Chains.
Variable sch : list sent.
Notation ts := (map data sch).
Hypothesis spans : forall t, In t ts -> 0 <= begins t < ends t.
Hypothesis waits : forall t, In t ts -> arrival j (src (tr t)) <= begins t /\ arrival j (dst (tr t)) <= begins t.
Variable k : nat.
Hypothesis alone : forall m u w, In m members -> In ((u, k), w) (pre j) -> contains w m -> u = m.
Hypothesis brought : forall m v, In m members -> In v members -> holds j ts m v k (makespan sch).
Hypothesis once : NoDup members.
Hypothesis some_late : exists m, In m members /\ is_late m = true.
Hypothesis some_not : exists m, In m members /\ is_late m = false.

Lemma in_lates m : In m lates -> In m members /\ is_late m = true.
Proof. apply filter_In. Qed.
(** What a late member contributes is elsewhere at [D] or later. *)
Lemma carried_late m : In m lates -> forall u x, holds j ts m u k x -> u = m \/ D <= x.
Proof.
  intros Hm u x H. destruct (in_lates m Hm) as [Hin Hl]. unfold is_late in Hl. apply Z.leb_le in Hl.
  remember k as k' eqn:E in H. induction H as [v k' x w Hk Hc _|t x Ht _ IH Hx]; subst.
  - left. apply lookup_In in Hk. apply (alone m v w Hin Hk Hc).
  - right. specialize (spans t Ht). destruct (IH eq_refl) as [Q|Q]; [|lia]. pose proof (proj1 (waits t Ht)). rewrite Q in H. lia.
Qed.
Lemma reads_late m t : In m lates -> In t ts -> holds j ts m (src (tr t)) k (begins t) -> D <= begins t.
Proof.
  intros Hm Ht H. destruct (carried_late m Hm _ _ H) as [Q|Q]; auto. destruct (in_lates m Hm) as [_ Hl].
  unfold is_late in Hl. apply Z.leb_le in Hl. pose proof (proj1 (waits t Ht)) as W. rewrite Q in W. lia.
Qed.
(** The transfer that brings a contribution to where it was not. *)
Lemma comes_then m g t0 : (forall w, lookup (pre j) g k = Some w -> contains w m -> False) -> ~ holds j ts m g k (t0 - 1) ->
  forall u x, holds j ts m u k x -> u = g ->
  exists t, In t ts /\ what (tr t) = k /\ dst (tr t) = g /\ t0 <= ends t /\ holds j ts m (src (tr t)) k (begins t).
Proof.
  intros H0 Hno u x H. remember k as k' eqn:E in H. induction H as [v k' x w Hk Hc _|t x Ht Hh IH Hx]; intros Hg; subst.
  - destruct (H0 w Hk Hc).
  - exists t. destruct (Z_lt_le_dec (ends t) t0) as [L|L]; [|repeat split; auto].
    destruct Hno. apply holds_sent; auto. lia.
Qed.
(** A contribution of one who is not late comes to a late rank, and first to any. *)
Lemma comes_to_late o : In o members -> is_late o = false -> forall u x, holds j ts o u k x -> is_late u = true ->
  exists e c, In e ts /\ what (tr e) = k /\ dst (tr e) = u /\ ends e <= x /\
    In c ts /\ what (tr c) = k /\ is_late (src (tr c)) = false /\ is_late (dst (tr c)) = true /\ (c = e \/ ends c < ends e).
Proof.
  intros Ho Hn u x H. remember k as k' eqn:E in H. induction H as [v k' x w Hk Hc _|t x Ht _ IH Hx]; intros Hl; subst.
  - apply lookup_In in Hk. pose proof (alone o v w Ho Hk Hc). congruence.
  - destruct (is_late (src (tr t))) eqn:S.
    + destruct (IH eq_refl eq_refl) as [e' [c' [A1 [A2 [A3 [A4 [B1 [B2 [B3 [B4 B5]]]]]]]]]].
      exists t, c'. specialize (spans t Ht). repeat split; auto. right. destruct B5 as [->|B5]; lia.
    + exists t, t. repeat split; auto.
Qed.

Definition early (f : nat) (t0 : Z) (t : timed) : bool := (ends t <? t0) || (ends t =? t0) && (dst (tr t) =? f)%nat.
Definition mark_of (f : nat * Z) (t : timed) : bool * nat :=
  let e := early (fst f) (snd f) t in (e, if e then src (tr t) else dst (tr t)).
Definition needed : nat := (length members - 1 + length lates)%nat.
Definition marks (f : nat * Z) (l : list (bool * nat)) : Prop :=
  NoDup l /\ (needed <= length l)%nat /\ forall a, In a l -> ~ ~ exists t, In t ts /\ what (tr t) = k /\ D <= begins t /\ mark_of f t = a.

Lemma without_one f l : NoDup l -> (length l <= S (length (filter (fun p => negb (p =? f)%nat) l)))%nat.
Proof.
  intros Hl. assert ((length l <= length (f :: filter (fun p => negb (p =? f)%nat) l))%nat); auto.
  apply NoDup_incl_length; auto. intros x Hx. destruct (Nat.eq_dec x f) as [->|]; [left; auto|right].
  apply filter_In. split; auto. apply negb_true_iff, Nat.eqb_neq. auto.
Qed.
Lemma without_none f l : ~ In f l -> length (filter (fun p => negb (p =? f)%nat) l) = length l.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. simpl. destruct (Nat.eqb_spec a f) as [->|]; [destruct H; left; auto|].
  simpl. rewrite IH; auto. intros Hi. apply H. right. exact Hi.
Qed.

(** Who has had all late contributions by [x]. *)
Definition has_all (f : nat) (x : Z) : Prop := forall m, In m lates -> holds j ts m f k x.

Theorem late_transfers : ~ ~ exists f l, marks f l.
Proof.
  intros No. destruct some_late as [m0 [M0 L0]]. destruct some_not as [o [O0 O1]].
  assert (Lm : In m0 lates) by (apply filter_In; auto).
  apply (first_time (fun x => exists f, has_all f x) (makespan sch) (makespan_0 sch)).
  { exists m0. intros m Hm. apply brought; auto. apply (in_lates m Hm). }
  intros [t0 [T0 [[f Hf] First]]].
  set (A := filter (fun p => negb (p =? f)%nat) lates). set (B := filter (fun p => negb (p =? f)%nat) members).
  assert (EarlyA : forall m, In m A -> exists t, In t ts /\ what (tr t) = k /\ D <= begins t /\ mark_of (f, t0) t = (true, m)).
  { intros m Hm. apply filter_In in Hm. destruct Hm as [Hm E]. apply negb_true_iff, Nat.eqb_neq in E. destruct (in_lates m Hm) as [Hin Hl].
    destruct (last_to_leave j (fun v => v) ts spans m k m (fun u w H1 H2 => alone m u w Hin H1 H2) f t0 (Hf m Hm) (not_eq_sym E)) as [t [P [Q [R [S [U V]]]]]].
    exists t. unfold is_late in Hl. apply Z.leb_le in Hl. pose proof (proj1 (waits t P)) as W. rewrite R in W.
    split; [exact P|]. split; [exact Q|]. split; [lia|]. unfold mark_of. cbn [fst snd].
    assert (X : early f t0 t = true). { unfold early. apply orb_true_iff. rewrite andb_true_iff, Z.ltb_lt, Z.eqb_eq, Nat.eqb_eq. destruct (Z_lt_le_dec (ends t) t0); [auto|right]. destruct V as [V|V]; [|lia]. split; [lia|exact V]. }
    rewrite X, R. reflexivity. }
  assert (LateB : forall g, In g B -> ~ ~ exists t, In t ts /\ what (tr t) = k /\ D <= begins t /\ mark_of (f, t0) t = (false, g)).
  { intros g Hg N. apply filter_In in Hg. destruct Hg as [Hg E]. apply negb_true_iff, Nat.eqb_neq in E.
    assert (Q : ~ ~ exists m, In m lates /\ (forall w, lookup (pre j) g k = Some w -> contains w m -> False) /\ ~ holds j ts m g k (t0 - 1)).
    { destruct (Z_le_lt_eq_dec _ _ (proj1 T0)) as [Pos|Zero].
      - intros X. apply (none_missing (fun m => holds j ts m g k (t0 - 1)) lates).
        + intros m Hm Z1. apply X. exists m. split; [exact Hm|]. split; [|exact Z1]. intros w H1 H2. apply Z1.
          apply (holds_start j ts m g k (t0 - 1) w); auto. lia.
        + intros Z1. apply (First (t0 - 1) ltac:(lia)). exists g. exact Z1.
      - intros X. apply X. exists m0. split; [exact Lm|]. split.
        + intros w H1 H2. apply lookup_In in H1. pose proof (alone m0 g w M0 H1 H2). apply E. 
          pose proof (Hf m0 Lm) as Z1. rewrite <- Zero in Z1. inversion Z1 as [v k' x w' Hk Hc _|t x Ht _ Hx]; subst.
          * apply lookup_In in Hk. pose proof (alone m0 f w' M0 Hk Hc). congruence.
          * specialize (spans t Ht). lia.
        + intros Z1. apply (holds_0 j ts spans) in Z1. lia. }
    apply Q. clear Q. intros [m [Hm [P1 P2]]].
    destruct (comes_then m g t0 P1 P2 g (makespan sch) (brought m g (proj1 (in_lates m Hm)) Hg) eq_refl) as [t [T1 [T2 [T3 [T4 T5]]]]].
    apply N. exists t. split; [exact T1|]. split; [exact T2|]. split; [apply (reads_late m t Hm T1 T5)|].
    unfold mark_of, early. cbn [fst snd]. rewrite (proj2 (Z.ltb_ge _ _) T4), T3, (proj2 (Nat.eqb_neq _ _) E), andb_false_r. reflexivity. }
  assert (NA : NoDup A) by (apply NoDup_filter, NoDup_filter, once).
  assert (NB : NoDup B) by (apply NoDup_filter, once).
  assert (Dis : forall p q : list (bool * nat), NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q)).
  { clear. induction p as [|e p IHp]; simpl; intros q Hp Hq Hd; auto. inversion Hp; subst.
    constructor; [|apply IHp; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto. }
  set (both := map (pair true) A ++ map (pair false) B).
  assert (Nb : NoDup both).
  { apply Dis; [apply Injective_map_NoDup; [intros a b [=]; auto|exact NA]|apply Injective_map_NoDup; [intros a b [=]; auto|exact NB]|].
    intros e H1 H2. apply in_map_iff in H1, H2. destruct H1 as [x [<- _]], H2 as [y [E _]]. discriminate. }
  assert (In_both : forall a, In a both -> ~ ~ exists t, In t ts /\ what (tr t) = k /\ D <= begins t /\ mark_of (f, t0) t = a).
  { intros a Ha. apply in_app_or in Ha. destruct Ha as [Ha|Ha]; apply in_map_iff in Ha; destruct Ha as [p [<- Hp]].
    - intros N. apply N. apply (EarlyA p Hp).
    - apply (LateB p Hp). }
  assert (LB : (length members - 1 <= length B)%nat) by (pose proof (without_one f members once); unfold B; lia).
  assert (Lboth : length both = (length A + length B)%nat) by (unfold both; rewrite app_length, !map_length; reflexivity).
  destruct (in_dec Nat.eq_dec f lates) as [Fl|Fl].
  2:{ apply No. exists (f, t0), both. split; [exact Nb|]. split; [|exact In_both].
      rewrite Lboth. unfold needed. unfold A. rewrite (without_none f lates Fl). lia. }
  destruct (in_lates f Fl) as [Fm F1].
  assert (LA : (length lates - 1 <= length A)%nat) by (pose proof (without_one f lates ltac:(apply NoDup_filter, once)); unfold A; lia).
  destruct (comes_to_late o O0 O1 f (makespan sch) (brought o f O0 Fm) F1) as [e [c [E1 [E2 [E3 [_ [C1 [C2 [C3 [C4 C5]]]]]]]]]].
  assert (After : forall t, In t ts -> is_late (dst (tr t)) = true -> D <= begins t).
  { intros t Ht H. unfold is_late in H. apply Z.leb_le in H. pose proof (proj2 (waits t Ht)). lia. }
  destruct (Z_le_gt_dec (ends e) t0) as [L|G].
  - apply No. exists (f, t0), ((true, src (tr c)) :: both). split; [|split].
    + constructor; auto. intros H. apply in_app_or in H. destruct H as [H|H]; apply in_map_iff in H; destruct H as [p [Q Hp]]; [|discriminate].
      injection Q as ->. apply filter_In in Hp. pose proof (proj2 (in_lates _ (proj1 Hp))). congruence.
    + cbn [length]. rewrite Lboth. unfold needed. lia.
    + intros a [<-|Ha]; [|apply In_both, Ha]. intros N. apply N. exists c. split; [exact C1|]. split; [exact C2|]. split; [apply After; auto|].
      assert (X : early f t0 c = true).
      { unfold early. apply orb_true_iff. rewrite andb_true_iff, Z.ltb_lt, Z.eqb_eq, Nat.eqb_eq.
        destruct C5 as [->|C5]; [|left; lia]. destruct (Z_lt_le_dec (ends e) t0); [auto|right]. split; [lia|exact E3]. }
      unfold mark_of. cbn [fst snd]. rewrite X. reflexivity.
  - apply No. exists (f, t0), ((false, f) :: both). split; [|split].
    + constructor; auto. intros H. apply in_app_or in H. destruct H as [H|H]; apply in_map_iff in H; destruct H as [p [Q Hp]]; [discriminate|].
      injection Q as ->. apply filter_In in Hp. destruct Hp as [_ Hp]. rewrite Nat.eqb_refl in Hp. discriminate.
    + cbn [length]. rewrite Lboth. unfold needed. lia.
    + intros a [<-|Ha]; [|apply In_both, Ha]. intros N. apply N. exists e. split; [exact E1|]. split; [exact E2|].
      split; [apply After; [exact E1|rewrite E3; exact F1]|].
      unfold mark_of, early. cbn [fst snd]. rewrite (proj2 (Z.ltb_ge _ _)), (proj2 (Z.eqb_neq _ _)), E3 by lia. reflexivity.
Qed.
End Chains.

(** ** The rule *)

(** From when on, and until when, a link can carry what begins at [D] or later. *)
Definition late_lanes (b : Z) : lanes :=
  lanes_by j (map (fun v => if is_rank j v then Z.max D (arrival j v) else D) (seq 0 (size_of_net j)), repeat D (size_of_net j)) b.
Definition own (v : nat) : nat := if is_rank j v then S v else O.
Definition fits_late : bool :=
  (0 <? D) && distinct members && forallb (is_rank j) members && existsb is_late members && existsb (fun m => negb (is_late m)) members.
Definition late_demands : list Z := flat_map (fun k => repeat (size j k) (if all_reduce k then needed else O)) (seq 0 (length (sizes j))).
Definition late_rule_in (net : network) (w : lanes) (bound : Z) : bool :=
  fits_late && all_in_parts j own &&
  (in_no_part j own (copying net) && nowhere_at j (adding net) &&
     too_soon_between j (from_when w) (until_when w) (into_parts j own) late_demands (bound - 1) ||
   in_no_part j own (adding net) && nowhere_at j (copying net) &&
     too_soon_between j (from_when w) (until_when w) (out_of_parts j own) late_demands (bound - 1)).
Definition late_rule (net : network) (bound : Z) : bool := late_rule_in net (late_lanes (least late_demands)) bound.

Section Late.
Variable net : network.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : loose j net occ sch.

Definition key_of_late (f : nat -> nat * Z) (t : sent) : nat * (bool * nat) := (what (tr (data t)), mark_of (f (what (tr (data t)))) (data t)).
Lemma fits : fits_late = true -> 0 < D /\ NoDup members /\ (forall m, In m members -> is_rank j m = true) /\
  (exists m, In m members /\ is_late m = true) /\ (exists m, In m members /\ is_late m = false).
Proof.
  unfold fits_late. rewrite !andb_true_iff, Z.ltb_lt, distinct_spec, forallb_forall, !existsb_exists.
  intros [[[[A B] C] E] [m [F G]]]. apply negb_true_iff in G. repeat split; auto. exists m. auto.
Qed.
Lemma late_marks k : fits_late = true -> all_reduce k = true -> ~ ~ exists e, marks sch k (fst e) (snd e).
Proof.
  intros Hf Ha. destruct (fits Hf) as [_ [N [R [L1 L2]]]]. unfold all_reduce in Ha. apply andb_true_iff in Ha. destruct Ha as [A B].
  rewrite forallb_forall in A, B. intros No. apply (late_transfers sch) with (k := k); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (take_time _ _ _ _ good s Hs).
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. pose proof (wait_for_ranks _ _ _ _ good s Hs) as W.
    destruct (are_transfers _ _ _ _ good s Hs) as [_ [Ru [Rv _]]]. pose proof (proj1 (have_routes _ _ _ _ good s Hs)) as Hl.
    split; apply W; try (apply Nat.ltb_lt; assumption); [left; reflexivity|].
    clear - Hl. revert Hl. generalize (src (tr (data s))) (dst (tr (data s))). induction (route s) as [|i r IH]; simpl; intros u v Hl; [auto|].
    destruct Hl as [_ [_ Hl]]. right. destruct (IH _ _ Hl) as [E|E]; [left; exact E|right; exact E].
  - intros m u w Hm Hin Hc. specialize (A m Hm). rewrite forallb_forall in A. specialize (A (u, w) (proj2 (in_start j k u w) Hin)).
    cbn [fst snd] in A. unfold containsb in A. rewrite (proj2 (Nat.ltb_lt 0 _) Hc) in A. apply Nat.eqb_eq, A.
  - intros m v Hm Hv. specialize (B v Hv). apply existsb_exists in B. destruct B as [[v' w] [Hg B]]. apply andb_true_iff in B.
    destruct B as [E B]. apply Nat.eqb_eq in E. cbn [fst snd] in *. subst v'. rewrite forallb_forall in B. specialize (B m Hm).
    apply (bring _ _ _ _ good v k w m); [apply in_goal, Hg|apply Nat.ltb_lt, B].
  - intros [f [l M]]. apply No. exists (f, l). exact M.
Qed.
Lemma late_served : fits_late = true -> ~ ~ exists f items, NoDup items /\ map (fun a : nat * (bool * nat) => size j (fst a)) items = late_demands /\
  forall a, In a items -> exists t, In t sch /\ key_of_late f t = a /\ D <= begins (data t).
Proof.
  intros Hf No. set (chunks := seq 0 (length (sizes j))). set (cnt := fun k => if all_reduce k then needed else O).
  apply (for_all_of (fun k e => NoDup (snd e) /\ (cnt k <= length (snd e))%nat /\ forall a, In a (firstn (cnt k) (snd e)) ->
      ~ ~ exists t, In t (map data sch) /\ what (tr t) = k /\ D <= begins t /\ mark_of (fst e) t = a) ((O, 0), []) chunks (seq_NoDup _ _)).
  { intros k _ N. unfold cnt in N. destruct (all_reduce k) eqn:E.
    - apply (late_marks k Hf E). intros [e [M1 [M2 M3]]]. apply N. exists e. split; [exact M1|]. split; [exact M2|].
      intros a Ha. apply M3, (in_firstn own needed), Ha.
    - apply N. exists ((O, 0), []). simpl. split; [constructor|]. split; [lia|intros ? []]. }
  intros [f F]. set (labels := fun k => if existsb (Nat.eqb k) chunks then firstn (cnt k) (snd (f k)) else []).
  assert (Hc : forall k, existsb (Nat.eqb k) chunks = true <-> In k chunks).
  { intros k. rewrite existsb_exists. split; [intros [y [Hy E]]; apply Nat.eqb_eq in E; congruence|].
    intros Hk. exists k. split; auto. apply Nat.eqb_refl. }
  set (items := flat_map (fun k => map (pair k) (labels k)) chunks).
  assert (N : NoDup items).
  { apply in_parallel_once; [apply seq_NoDup|]. intros k. unfold labels. destruct (existsb (Nat.eqb k) chunks) eqn:E; [|constructor].
    apply Hc in E. apply (firstn_once own), (proj1 (F k E)). }
  assert (M : map (fun a : nat * (bool * nat) => size j (fst a)) items = late_demands).
  { unfold items, late_demands. fold chunks. assert (I : incl chunks chunks) by apply incl_refl. revert I.
    generalize chunks at 1 3 4. intros l I. induction l as [|k l IH]; simpl; auto. rewrite map_app, map_map. cbn [fst].
    rewrite IH by (intros x Hx; apply I; right; auto). f_equal.
    unfold labels. rewrite (proj2 (Hc k) (I k (or_introl eq_refl))). fold (cnt k).
    destruct (F k (I k (or_introl eq_refl))) as [_ [L _]]. rewrite <- (firstn_length_le (snd (f k)) L) at 2.
    generalize (firstn (cnt k) (snd (f k))). intros q. induction q as [|a q IHq]; simpl; congruence. }
  assert (S : ~ ~ forall a, In a items -> exists t, In t sch /\ key_of_late (fun k => fst (f k)) t = a /\ D <= begins (data t)).
  { apply none_missing. intros [k a] Ha. unfold items in Ha. apply in_flat_map in Ha. destruct Ha as [k' [Hk Ha]].
    apply in_map_iff in Ha. destruct Ha as [a' [[= -> ->] Ha]]. unfold labels in Ha. rewrite (proj2 (Hc k) Hk) in Ha.
    destruct (F k Hk) as [_ [_ X]]. specialize (X a Ha). intros No'. apply X.
    intros [t [A [B [C E]]]]. apply in_map_iff in A. destruct A as [s [<- Hs]]. apply No'. exists s. split; [exact Hs|]. split; [|exact C].
    unfold key_of_late. rewrite B, E. reflexivity. }
  apply S. clear S. intros S. apply No. exists (fun k => fst (f k)), items. split; [exact N|]. split; [exact M|exact S].
Qed.

Theorem late_in_sound w bound :
  (forall t i sp, In t sch -> In (i, sp) (occ t) -> least late_demands <= size j (what (tr (data t))) -> D <= begins (data t) ->
    from_when w i <= first sp /\ first sp + long sp + until_when w i <= ends (data t)) ->
  late_rule_in net w bound = true -> bound <= makespan sch.
Proof.
  intros Lane H. unfold late_rule_in in H. apply andb_true_iff in H. destruct H as [H0 H]. apply andb_true_iff in H0. destruct H0 as [Hf Hall].
  destruct (Z_le_gt_dec bound (makespan sch)) as [|G]; auto. exfalso. apply (late_served Hf). intros [f [items [N [M S]]]].
  assert (P : forall ls (way : sent -> nat -> Prop), NoDup ls -> (forall t, In t sch -> own (src (tr (data t))) <> own (dst (tr (data t))) -> exists i, way t i) ->
      (forall t i, way t i -> In i (route t) /\ In i ls) -> (forall t t' i, In t sch -> way t i -> ~ share j net t t' i) ->
      too_soon_between j (from_when w) (until_when w) ls late_demands (bound - 1) = true -> False).
  { intros ls way Hl Hpass Hway Halone Ht. rewrite <- M in Ht. enough (bound <= makespan sch) by lia.
    refine (too_soon_later j (from_when w) (until_when w) _ _ _ _ sane _ Ht).
    apply (too_soon_occupied j (from_when w) (until_when w) _ (fun a : nat * (bool * nat) => size j (fst a))
      (fun a u => In a items /\ exists t, In t sch /\ key_of_late f t = a /\ D <= begins (data t) /\ In u (occ t) /\ way t (fst u))); auto.
    - intros a Ha. destruct (S a Ha) as [t [A [B C]]]. destruct (Hpass t A) as [i Hi].
      { destruct (are_transfers _ _ _ _ good t A) as [_ [Ru [Rv Hne]]]. unfold own, is_rank.
        rewrite (proj2 (Nat.ltb_lt _ _) Ru), (proj2 (Nat.ltb_lt _ _) Rv). congruence. }
      destruct (Hway t i Hi) as [E _]. destruct (has_use j net occ sch good t i A E) as [u [Hu Q]]. exists u. split; [exact Ha|]. exists t. rewrite Q. auto.
    - intros a u [Ia [t [A [B [C [E F]]]]]]. destruct u as [i sp]. cbn [fst] in F. destruct (Hway t i F) as [F1 F2].
      destruct (are_inside j net sane occ sch good t i sp A E) as [_ [Y _]]. pose proof (ends_makespan sch t A).
      assert (K : size j (fst a) = size j (what (tr (data t)))) by (rewrite <- B; reflexivity).
      destruct (Lane t i sp A E) as [L1 L2]; [|exact C|].
      { rewrite <- K, <- M. apply least_le. apply (in_map (fun a : nat * (bool * nat) => size j (fst a))), Ia. }
      unfold occupies. cbn [fst snd]. rewrite K. split; [exact F2|]. split; [exact L1|]. split; [exact Y|lia].
    - intros a b u v Hne [_ [t [A [B [_ [C E]]]]]] [_ [t' [A' [B' [_ [C' E']]]]]] Q.
      destruct (are_apart _ _ _ _ good t t' u v A A') as [|X]; auto; [congruence|]. destruct (Halone t t' (fst u) A E X).
    - intros a. apply sane_size, sane. }
  apply orb_true_iff in H. rewrite !andb_true_iff in H. destruct H as [[[H1 H2] H3]|[[H1 H2] H3]].
  - apply (P (into_parts j own) (goes_in j own)); auto.
    + apply some_links_once.
    + intros t Ht Hne. apply (goes_between j net occ sch good own t Hall Ht Hne).
    + intros t i [n [A [B _]]]. split; auto. eapply nth_error_In; eauto.
    + intros t t' i Ht Hw. apply (alone_in j net occ sch good own); auto.
  - apply (P (out_of_parts j own) (goes_out j own)); auto.
    + apply some_links_once.
    + intros t Ht Hne. apply (goes_between j net occ sch good own t Hall Ht Hne).
    + intros t i [n [A [B _]]]. split; auto. eapply nth_error_In; eauto.
    + intros t t' i Ht Hw. apply (alone_out j net occ sch good own); auto.
Qed.
End Late.

Lemma begins_late_enough i t net occ sch : loose i net occ sch -> nodes i = nodes j -> links i = links j -> release i = release j -> In t sch -> D <= begins (data t) ->
  potential (map (fun v => if is_rank j v then Z.max D (arrival j v) else D) (seq 0 (size_of_net j))) (src (tr (data t))) <= begins (data t).
Proof.
  intros good En El Er Ht Hd. destruct (are_transfers _ _ _ _ good t Ht) as [_ [Ru _]].
  assert (Ri : is_rank i (src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru).
  pose proof (wait_for_ranks _ _ _ _ good t Ht _ (or_introl eq_refl) Ri) as Ha. unfold arrival in Ha. rewrite Er in Ha. fold (arrival j (src (tr (data t)))) in Ha.
  unfold potential. set (u := src (tr (data t))) in *. destruct (Nat.lt_ge_cases u (size_of_net j)) as [L|L].
  - rewrite (nth_indep _ 0 (if is_rank j 0 then Z.max D (arrival j 0) else D)) by (rewrite map_length, seq_length; exact L).
    rewrite (map_nth (fun v => if is_rank j v then Z.max D (arrival j v) else D)), seq_nth by exact L. cbn [Nat.add]. destruct (is_rank j u); lia.
  - rewrite nth_overflow by (rewrite map_length, seq_length; exact L). pose proof (take_time _ _ _ _ good t Ht). lia.
Qed.
Theorem late_sound net occ sch bound : positive j -> loose j net occ sch -> late_rule net bound = true -> bound <= makespan sch.
Proof.
  intros sane good. apply (late_in_sound net occ sch sane good). intros t i sp Ht Hin Hb Hd. unfold late_lanes.
  pose proof (begins_late_enough j t net occ sch good eq_refl eq_refl eq_refl Ht Hd) as Fu.
  assert (E : j = Job (nodes j) (links j) (ports j) (model j) (release j) (sizes j) (idempotent j) (pre j) (post j)) by (destruct j; reflexivity).
  set (b := least late_demands) in *. clearbody b. set (tb := (_, _) : list Z * list Z). change (potential (fst tb) (src (tr (data t))) <= begins (data t)) in Fu. clearbody tb.
  clear - sane good Ht Hin Hb Fu E. revert sane good Hb. rewrite E at 1 2 3. intros sane good Hb.
  apply (lanes_by_hold j (sizes j) (pre j) (post j) tb net b occ sch sane good t i sp Ht Hin Hb Fu).
Qed.
End Job.

Theorem right_late_sound j D members bound sch : positive j -> late_rule j D members (Network (fun _ => false) (fun _ => false) (fun _ => false) (fun _ => false) []) bound = true ->
  right j sch -> bound <= makespan sch.
Proof. intros Hp H Hr. eapply late_sound; eauto using right_loose. Qed.

(** ** However the shards are cut *)

Section Cut.
Variable j : job.
Variable D : Z.
Variable members : list nat.
Variable ps : pieces.
Hypothesis cut : is_cut j ps.
Hypothesis sane : positive j.

Definition free_late_rule (net : network) (bound : Z) : bool :=
  let w := late_lanes j D 1 in
  let too_soon ls := negb (sum (fun w => w) (late_demands j D members) * picoseconds <=?
    sum (fun i => bandwidth (at_link j i) * Z.max 0 (time_between (from_when w) (until_when w) (bound - 1) i - beside j i)) ls) in
  fits_late j D members && all_in_parts j (own j) &&
  (in_no_part j (own j) (copying net) && nowhere_at j (adding net) && too_soon (into_parts j (own j)) ||
   in_no_part j (own j) (adding net) && nowhere_at j (copying net) && too_soon (out_of_parts j (own j))).

Lemma all_reduce_cut k : In k (seq 0 (length ps)) -> all_reduce (recut j ps) members k = all_reduce j members (shard ps k).
Proof.
  intros Hk. unfold all_reduce, start_of, goal_of. cbn [pre post recut]. rewrite !said_of_cut, !map_map by auto. reflexivity.
Qed.
Lemma sum_late i : sum (fun w => w) (late_demands i D members) =
  sum (fun k => size i k * Z.of_nat (if all_reduce i members k then needed i D members else O)) (seq 0 (length (sizes i))).
Proof.
  unfold late_demands. induction (seq 0 (length (sizes i))) as [|k l IH]; [reflexivity|].
  cbn [flat_map]. rewrite sum_app, IH. cbn [sum fold_right]. f_equal.
  induction (if all_reduce i members k then needed i D members else O) as [|n IHn]; [simpl; lia|]. cbn [repeat sum fold_right]. unfold sum in IHn. rewrite IHn. lia.
Qed.
Lemma late_demands_cut : sum (fun w => w) (late_demands j D members) <= sum (fun w => w) (late_demands (recut j ps) D members).
Proof.
  rewrite !sum_late, recut_chunks. pose proof (sum_of_shards j ps cut (fun s => Z.of_nat (if all_reduce j members s then needed j D members else O))) as E.
  unfold chunks_of in E. rewrite <- E. apply sum_le. intros k Hk. rewrite all_reduce_cut by auto.
  change (needed (recut j ps) D members) with (needed j D members). lia.
Qed.
Theorem free_late_sound net occ sch bound : loose (recut j ps) net occ sch -> free_late_rule net bound = true -> bound <= makespan sch.
Proof.
  intros Hg H. apply (late_in_sound (recut j ps) D members net occ sch (recut_positive j ps cut sane) Hg (late_lanes j D 1)).
  - intros t i sp Ht Hin _ Hd. destruct (are_transfers _ _ _ _ Hg t Ht) as [Hk _].
    apply (lanes_by_hold j (map snd ps) (cut_up ps (pre j)) (cut_up ps (post j)) _ net 1 occ sch (recut_positive j ps cut sane) Hg t i sp Ht Hin).
    + apply (recut_size_1 j ps cut). apply in_seq. rewrite recut_chunks in Hk. lia.
    + apply (begins_late_enough j D (recut j ps) t net occ sch Hg eq_refl eq_refl eq_refl Ht Hd).
  - unfold free_late_rule in H. unfold late_rule_in. apply andb_true_iff in H. destruct H as [H1 H].
    apply andb_true_iff. split; [exact H1|]. apply orb_true_iff in H. apply orb_true_iff. pose proof late_demands_cut as L.
    destruct H as [H|H]; apply andb_true_iff in H; destruct H as [H2 H3]; [left|right];
      (apply andb_true_iff; split; [exact H2|]; unfold too_soon_between; rewrite !orb_true_iff; left; left;
       apply negb_true_iff, Z.leb_gt; apply negb_true_iff, Z.leb_gt in H3; eapply Z.lt_le_trans; [exact H3|]; unfold picoseconds; lia).
Qed.
End Cut.
