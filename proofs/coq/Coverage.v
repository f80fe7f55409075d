(** The lemma (coverage) of package cert: what enters a set of nodes early is a sum of few
    contributions, and what enters it late can serve few ranks. Left out: what Schedule.v
    leaves out; rounds. *)
From Coq Require Import Bool List ZArith Lia FinFun.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds.
Import ListNotations.
Open Scope Z_scope.

(** ** Sums and counts *)

Lemma sum_swap {A B} (f : A -> B -> Z) xs ys :
  sum (fun x => sum (f x) ys) xs = sum (fun y => sum (fun x => f x y) xs) ys.
Proof.
  induction xs as [|x xs IH]; simpl.
  - induction ys; simpl; lia.
  - rewrite IH. clear. induction ys as [|y ys IH]; simpl; lia.
Qed.
Lemma sum_zero {A} (f : A -> Z) xs : (forall x, In x xs -> f x = 0) -> sum f xs = 0.
Proof. induction xs as [|x xs IH]; simpl; intros H; [lia|]. rewrite (H x) by auto. rewrite IH; auto. Qed.
Lemma sum_eq {A} (f g : A -> Z) xs : (forall x, In x xs -> f x = g x) -> sum f xs = sum g xs.
Proof. induction xs as [|x xs IH]; simpl; intros H; [lia|]. rewrite (H x) by auto. rewrite IH; auto. Qed.
Lemma sum_pos {A} (f : A -> Z) xs : (forall x, In x xs -> 0 <= f x) -> 0 <= sum f xs.
Proof. induction xs as [|x xs IH]; simpl; intros H; [lia|]. specialize (IH (fun y Hy => H y (or_intror Hy))). specialize (H x (or_introl eq_refl)). lia. Qed.
Lemma sum_filter {A} (f : A -> Z) g xs : sum f (filter g xs) = sum (fun x => if g x then f x else 0) xs.
Proof. induction xs as [|x xs IH]; simpl; auto. destruct (g x); simpl; lia. Qed.

Lemma product_of_sums {A B} (f : A -> Z) (g : B -> Z) xs ys :
  sum f xs * sum g ys = sum (fun x => sum (fun y => f x * g y) ys) xs.
Proof.
  induction xs as [|x xs IH]; [reflexivity|].
  change ((f x + sum f xs) * sum g ys = sum (fun y => f x * g y) ys + sum (fun x => sum (fun y => f x * g y) ys) xs).
  rewrite <- IH, sum_mul. lia.
Qed.

(** How many of the times [l] are over at [t]. *)
Definition over (l : list Z) (t : Z) : Z := sum (fun x => if x <=? t then 1 else 0) l.
Lemma over_mono l s t : s <= t -> over l s <= over l t.
Proof. intros H. apply sum_le. intros x _. destruct (Z.leb_spec x s), (Z.leb_spec x t); lia. Qed.
Lemma over_length l t : over l t = Z.of_nat (length (filter (fun x => x <=? t) l)).
Proof. unfold over. induction l as [|x l IH]; [reflexivity|]. cbn [sum fold_right filter]. destruct (x <=? t); cbn [length]; unfold sum in IH; lia. Qed.

(** Each of these pairs is in one of some rectangles. *)
Lemma pairs_in_rectangles {A B X} (l : list A) (r : list B) (xs : list X) (a : X -> A -> bool) (b : X -> B -> bool) :
  NoDup l -> NoDup r ->
  (forall v w, In v l -> In w r -> exists x, In x xs /\ a x v = true /\ b x w = true) ->
  Z.of_nat (length l) * Z.of_nat (length r) <=
  sum (fun x => Z.of_nat (length (filter (a x) l)) * Z.of_nat (length (filter (b x) r))) xs.
Proof.
  intros Hl Hr H.
  set (g := fun x => list_prod (filter (a x) l) (filter (b x) r)).
  assert (E : (length (list_prod l r) <= length (flat_map g xs))%nat).
  { apply NoDup_incl_length.
    - clear - Hl Hr. induction Hl as [|x l Hx Hl IH]; simpl; [constructor|].
      assert (D : forall p q : list (A * B), NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q)).
      { clear. induction p as [|e p IHp]; simpl; intros q Hp Hq Hd; auto. inversion Hp; subst.
        constructor; [|apply IHp; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto. }
      apply D; auto.
      + apply Injective_map_NoDup; auto. intros y z [=]. auto.
      + intros [e1 e2] He Hf. apply in_map_iff in He. destruct He as [y [[= <- <-] _]]. apply in_prod_iff in Hf. tauto.
    - intros [v w] Hin. apply in_prod_iff in Hin. destruct Hin as [Hv Hw].
      destruct (H v w Hv Hw) as [x [Hx [Ha Hb]]]. apply in_flat_map. exists x. split; auto.
      apply in_prod_iff. rewrite !filter_In. auto. }
  rewrite prod_length in E.
  replace (sum _ xs) with (Z.of_nat (length (flat_map g xs))).
  - rewrite <- Nat2Z.inj_mul. lia.
  - clear. induction xs as [|x xs IH]; [reflexivity|]. cbn [flat_map sum fold_right].
    rewrite app_length, Nat2Z.inj_add, IH. unfold g at 1. rewrite prod_length, Nat2Z.inj_mul. reflexivity.
Qed.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Notation at_link := (at_link j).

(** ** Hops *)

(** The end of a way from [u]. *)
Fixpoint far (u : nat) (h : list nat) : nat :=
  match h with [] => u | i :: h => far (Cut.dst (at_link i)) h end.

(** What occupies a link: the ranks between which the hop is, when it begins and what its
    bytes take. *)
Record flight := Flight { hop_from : nat; hop_to : nat; hop_slow : Z; hop_use : use }.
Fixpoint flights_hops (b : Z) (from : Z) (u : nat) (hs : list (list nat)) : list flight :=
  match hs with
  | [] => []
  | h :: hs => map (Flight u (far u h) (slowest j b h)) (along j (slowest j b h) from h) ++
      flights_hops b (from + (latencies j h + slowest j b h)) (far u h) hs
  end.
Lemma flights_uses b hs : forall from u, map hop_use (flights_hops b from u hs) = busy_hops j b from hs.
Proof.
  induction hs as [|h hs IH]; simpl; intros from u; auto.
  rewrite map_app, IH, map_map. f_equal. apply map_id.
Qed.

(** Between its ends a hop visits no rank. *)
Fixpoint over_switches (h : list nat) : Prop :=
  match h with
  | [] => True
  | i :: h' => (h' = [] \/ is_rank j (Cut.dst (at_link i)) = false) /\ over_switches h'
  end.
Fixpoint way (u : nat) (h : list nat) (v : nat) : Prop :=
  match h with [] => u = v | i :: h => Cut.src (at_link i) = u /\ way (Cut.dst (at_link i)) h v end.
Lemma leads_way r : forall u v, leads j u r v -> way u r v.
Proof. induction r as [|i r IH]; simpl; intros u v; [auto|]. intros [_ [A B]]. auto. Qed.

Lemma leads_app r1 : forall r2 u v, leads j u (r1 ++ r2) v -> exists w, leads j u r1 w /\ leads j w r2 v.
Proof.
  induction r1 as [|i r1 IH]; simpl; intros r2 u v H; [eauto|]. destruct H as [A [B C]].
  destruct (IH _ _ _ C) as [w [D E]]. exists w. tauto.
Qed.
Lemma leads_far r : forall u v, leads j u r v -> far u r = v.
Proof. induction r as [|i r IH]; simpl; intros u v H; [auto|]. destruct H as [_ [_ H]]. auto. Qed.
Lemma far_app a : forall u b, far u (a ++ b) = far (far u a) b.
Proof. induction a as [|i a IH]; simpl; intros; auto. Qed.

(** A hop ends at a rank, and has a link at least. *)
Lemma hops_shape r : forall u v, leads j u r v -> is_rank j v = true ->
  forall h, In h (hops j r) -> h <> [] /\ over_switches h /\ forall w, is_rank j (far w h) = true.
Proof.
  induction r as [|i r IH]; [simpl; tauto|]. intros u v Hl Hv h Hh. destruct Hl as [Hi [Hs Hl]].
  pose proof (IH _ _ Hl Hv) as I. cbn [hops] in Hh. destruct (is_rank j (Cut.dst (at_link i))) eqn:E.
  - destruct Hh as [<-|Hh]; [|auto]. simpl. repeat split; auto. congruence.
  - destruct (hops j r) as [|h0 hs] eqn:Eh.
    + destruct r as [|i' r]; [simpl in Hl; subst v; congruence|].
      simpl in Eh. destruct (is_rank j _); [discriminate|]. destruct (hops j r); discriminate.
    + destruct Hh as [<-|Hh]; [|apply I; right; auto].
      destruct (I h0 (or_introl eq_refl)) as [A [B C]]. split; [congruence|]. simpl. repeat split; auto.
Qed.
Lemma hops_cut r : forall hs1 hs2, hops j r = hs1 ++ hs2 ->
  hops j (concat hs1) = hs1 /\ hops j (concat hs2) = hs2.
Proof.
  induction r as [|i r IH]; intros hs1 hs2 H.
  - simpl in H. symmetry in H. apply app_eq_nil in H. destruct H as [-> ->]. auto.
  - cbn [hops] in H. destruct hs1 as [|h hs1].
    + split; [reflexivity|]. simpl in H. rewrite <- H.
      change (if is_rank j (Cut.dst (at_link i)) then [i] :: hops j r
        else match hops j r with [] => [[i]] | h :: hs => (i :: h) :: hs end) with (hops j (i :: r)).
      now rewrite concat_hops.
    + destruct (is_rank j (Cut.dst (at_link i))) eqn:E.
      * simpl in H. injection H as <- H. destruct (IH _ _ H) as [A B]. split; auto.
        simpl. rewrite E. f_equal. exact A.
      * destruct (hops j r) as [|h0 hs] eqn:Eh.
        -- simpl in H. injection H as <- H. symmetry in H. apply app_eq_nil in H. destruct H as [-> ->].
           simpl. rewrite E. auto.
        -- simpl in H. injection H as <- H. subst hs.
           destruct (IH (h0 :: hs1) hs2) as [A B]; [reflexivity|]. split; auto.
           simpl. simpl in A. rewrite E, A. reflexivity.
Qed.


Lemma along_split slow h : forall from a, In a (along j slow from h) ->
  exists h1 h2, h = h1 ++ fst a :: h2 /\ first (snd a) = from + latencies j h1 /\ long (snd a) = slow + beside j (fst a).
Proof.
  induction h as [|i h IH]; simpl; intros from a H; [tauto|]. destruct H as [<-|H].
  - exists [], h. unfold latencies, beside. simpl. repeat split; auto. lia.
  - destruct (IH _ _ H) as [h1 [h2 [A [B C]]]]. exists (i :: h1), h2. rewrite A. simpl. repeat split; auto.
    unfold latencies in *. simpl. lia.
Qed.

Lemma flight_split b hs : forall from u f, In f (flights_hops b from u hs) ->
  exists hs1 h1 h2 hs2, hs = hs1 ++ (h1 ++ fst (hop_use f) :: h2) :: hs2 /\
    hop_from f = far u (concat hs1) /\ hop_to f = far (hop_from f) (h1 ++ fst (hop_use f) :: h2) /\
    hop_slow f = slowest j b (h1 ++ fst (hop_use f) :: h2) /\
    first (snd (hop_use f)) = from + lasting j b hs1 + latencies j h1 /\
    long (snd (hop_use f)) = hop_slow f + beside j (fst (hop_use f)).
Proof.
  induction hs as [|h hs IH]; simpl; intros from u f H; [tauto|]. apply in_app_or in H. destruct H as [H|H].
  - apply in_map_iff in H. destruct H as [a [<- H]]. destruct (along_split _ _ _ _ H) as [h1 [h2 [A [B C]]]].
    exists [], h1, h2, hs. cbn [hop_from hop_to hop_slow hop_use concat far app]. rewrite <- A.
    unfold lasting. simpl. repeat split; auto. lia.
  - destruct (IH _ _ _ H) as [hs1 [h1 [h2 [hs2 [A [B [C [D [E F]]]]]]]]].
    exists (h :: hs1), h1, h2, hs2. simpl. rewrite A, far_app. repeat split; auto.
    unfold lasting in *. simpl. lia.
Qed.

Lemma along_there slow h1 i h2 : forall from, exists a, In a (along j slow from (h1 ++ i :: h2)) /\
  fst a = i /\ first (snd a) = from + latencies j h1 /\ long (snd a) = slow + beside j i.
Proof.
  induction h1 as [|x h1 IH]; simpl; intros from.
  - eexists. split; [left; reflexivity|]. unfold latencies, beside. simpl. repeat split; auto; lia.
  - destruct (IH (from + latency (at_link x))) as [a [A [B [C D]]]]. exists a.
    unfold latencies in *. simpl. repeat split; auto; lia.
Qed.
Lemma flight_there b hs1 h1 i h2 hs2 : forall from u, let h := h1 ++ i :: h2 in
  exists f, In f (flights_hops b from u (hs1 ++ h :: hs2)) /\ fst (hop_use f) = i /\
    hop_to f = far (far u (concat hs1)) h /\ hop_slow f = slowest j b h /\
    first (snd (hop_use f)) = from + lasting j b hs1 + latencies j h1.
Proof.
  induction hs1 as [|h0 hs1 IH]; intros from u h.
  - destruct (along_there (slowest j b h) h1 i h2 from) as [a [A [B [C D]]]].
    exists (Flight u (far u h) (slowest j b h) a). cbn [app flights_hops concat far hop_from hop_to hop_slow hop_use].
    split; [apply in_or_app; left; apply in_map, A|]. unfold lasting. simpl. repeat split; auto; lia.
  - destruct (IH (from + (latencies j h0 + slowest j b h0)) (far u h0)) as [f [A [B [C [D E]]]]]. exists f.
    cbn [app flights_hops concat]. rewrite far_app. split; [apply in_or_app; right; exact A|].
    repeat split; auto. unfold lasting in *. simpl. lia.
Qed.

Lemma concat_split (hs : list (list nat)) : forall r1 i r2, concat hs = r1 ++ i :: r2 ->
  exists hs1 h1 h2 hs2, hs = hs1 ++ (h1 ++ i :: h2) :: hs2 /\ r1 = concat hs1 ++ h1 /\ r2 = h2 ++ concat hs2.
Proof.
  induction hs as [|h hs IH]; simpl; intros r1 i r2 H; [destruct r1; discriminate|].
  revert r1 H. induction h as [|x h IHh]; simpl; intros r1 H.
  - destruct (IH _ _ _ H) as [hs1 [h1 [h2 [hs2 [A [B C]]]]]]. exists ([] :: hs1), h1, h2, hs2. rewrite A. auto.
  - destruct r1 as [|y r1]; simpl in H; injection H as -> H.
    + exists [], [], h, hs. auto.
    + destruct (IHh _ H) as [hs1 [h1 [h2 [hs2 [A [B C]]]]]]. destruct hs1 as [|h0 hs1]; simpl in A; injection A as -> A.
      * exists [], (y :: h1), h2, hs2. rewrite A. simpl in B. rewrite B. auto.
      * exists ((y :: h0) :: hs1), h1, h2, hs2. simpl in *. rewrite B, A. auto.
Qed.

Lemma over_app a : forall b, over_switches (a ++ b) -> over_switches a /\ over_switches b.
Proof.
  induction a as [|i a IH]; simpl; intros b H; [auto|]. destruct H as [H H']. destruct (IH _ H') as [A B].
  repeat split; auto. destruct H as [H|H]; auto. apply app_eq_nil in H. tauto.
Qed.
Lemma starts_at_rank h1 i h2 : forall u x, leads j u h1 x -> over_switches (h1 ++ i :: h2) -> is_rank j x = true -> h1 = [].
Proof.
  induction h1 as [|a h1 IH]; simpl; intros u x Hl Ho Hx; auto. destruct Hl as [_ [_ Hl]]. destruct Ho as [H Ho].
  pose proof (IH _ _ Hl Ho Hx) as E. subst h1. simpl in *. subst x. destruct H; congruence.
Qed.

Lemma ends_at_rank hs : forall u v, leads j u (concat hs) v -> is_rank j u = true ->
  (forall h, In h hs -> forall w, is_rank j (far w h) = true) -> is_rank j v = true.
Proof.
  induction hs as [|h hs IH]; simpl; intros u v Hl Hu H; [congruence|].
  destruct (leads_app _ _ _ _ Hl) as [w [A B]]. apply (IH _ _ B); auto.
  rewrite <- (leads_far _ _ _ A). auto.
Qed.

(** ** Latencies over switches *)

Definition lead_ok (on : link -> bool) (u : nat) (p : list Z) : bool :=
  (potential p u <=? 0) &&
  forallb (fun l => negb (on l) || is_rank j (Cut.src l) && negb (Cut.src l =? u)%nat ||
    (potential p (Cut.dst l) <=? potential p (Cut.src l) + latency l)) (links j).
Lemma lead_way on u p h : forall x v a, lead_ok on u p = true -> (x = u \/ is_rank j x = false) -> potential p x <= a ->
  leads j x h v -> (forall i, In i h -> on (at_link i) = true) -> over_switches h -> potential p v <= a + latencies j h.
Proof.
  induction h as [|i h IH]; intros x v a Hp Hx Ha Hl Hon Ho.
  - simpl in Hl. subst v. unfold latencies. simpl. lia.
  - destruct Hl as [Hi [Hs Hl]]. destruct Ho as [Ho Ho']. unfold latencies in *. simpl.
    assert (Q : potential p (Cut.dst (at_link i)) <= a + latency (at_link i)).
    { unfold lead_ok in Hp. apply andb_true_iff in Hp. destruct Hp as [_ Hp]. rewrite forallb_forall in Hp.
      specialize (Hp (at_link i) (nth_In _ _ Hi)). rewrite (Hon i (or_introl eq_refl)), Hs in Hp.
      destruct Hx as [->|Hx]; [rewrite Nat.eqb_refl, andb_false_r in Hp|rewrite Hx in Hp]; simpl in Hp; apply Z.leb_le in Hp; lia. }
    destruct Ho as [->|Ho].
    + simpl in *. subst v. lia.
    + specialize (IH (Cut.dst (at_link i)) v (a + latency (at_link i)) Hp (or_intror Ho) Q Hl (fun i' H => Hon i' (or_intror H)) Ho'). lia.
Qed.

(** ** The last entry *)

Definition flights_of (t : sent) : list flight :=
  flights_hops (size j (what (tr (data t)))) (begins (data t)) (src (tr (data t))) (hops j (route t)).

Section Cover.
Variable X : nat -> bool.   (* the set of nodes *)
Variable within : bool.     (* a window holds what occupies a link beside its bytes *)
Variable b : Z.             (* no chunk that counts has fewer bytes *)
Variables full head : nat -> list Z.     (* by contribution: when it can be at a node *)
Variable lead : nat -> list Z.           (* by rank: latencies over switches *)
Variables onto onto_head : nat -> list Z. (* by rank of the set: how long from there to a node, inside *)
Variable beyond : nat -> list Z.         (* by node of the set: latencies over switches, inside *)
Hypothesis bytes : 0 <= b.

Definition inner (l : link) : bool := X (Cut.src l) && X (Cut.dst l).
Definition enters (l : link) : bool := negb (X (Cut.src l)) && X (Cut.dst l).
Definition due (v : nat) : Z := if is_rank j v then arrival j v else 0.
Definition rest (i : nat) : Z := latency (at_link i) - if within then beside j i else 0.
Definition early (i u w : nat) : Z :=
  Z.max (potential (full w) u) (due (Cut.dst (at_link i))) + potential (lead u) (Cut.src (at_link i)).
Definition late (i z v : nat) : Z := rest i + potential (beyond (Cut.dst (at_link i))) z + Z.max 0 (potential (onto z) v).

Definition spreads_well (w : nat) : Prop :=
  forall l, In l (links j) -> rises_well j (arrival j) (full w) (head w) b l = true.
Hypothesis lead_well : forall u, (u < nodes j)%nat -> lead_ok (fun _ => true) u (lead u) = true.
Hypothesis onto_well : forall z, (z < nodes j)%nat -> X z = true -> potential (onto z) z <= 0 /\
  forall l, In l (links j) -> inner l = true -> rises_well j (fun _ => 0) (onto z) (onto_head z) b l = true.
Hypothesis beyond_well : forall i, (i < length (links j))%nat -> enters (at_link i) = true ->
  lead_ok inner (Cut.dst (at_link i)) (beyond (Cut.dst (at_link i))) = true.

Definition length_of (f : flight) : Z := hop_slow f + if within then beside j (fst (hop_use f)) else 0.
Definition begin_of (f : flight) : Z := first (snd (hop_use f)).

Lemma last_crossing r : forall u v, leads j u r v -> X v = true ->
  (X u = true /\ forall i, In i r -> inner (at_link i) = true) \/
  exists r1 i r2, r = r1 ++ i :: r2 /\ enters (at_link i) = true /\ forall i', In i' r2 -> inner (at_link i') = true.
Proof.
  induction r as [|i r IH]; intros u v Hl Hv.
  - simpl in Hl. subst v. left. simpl. tauto.
  - destruct Hl as [Hi [Hs Hl]]. destruct (IH _ _ Hl Hv) as [[A B]|[r1 [i' [r2 [A [B C]]]]]].
    + destruct (X u) eqn:E.
      * left. split; auto. intros i' [<-|H]; auto. unfold inner. rewrite Hs, E, A. reflexivity.
      * right. exists [], i, r. repeat split; auto. unfold enters. rewrite Hs, E, A. reflexivity.
    + right. exists (i :: r1), i', r2. rewrite A. auto.
Qed.
Lemma stays r : forall u v, leads j u r v -> X u = true -> (forall i, In i r -> inner (at_link i) = true) -> X v = true.
Proof.
  induction r as [|i r IH]; intros u v Hl Hu Hin; [simpl in Hl; congruence|]. destruct Hl as [_ [_ Hl]].
  apply (IH _ _ Hl); [|intros; apply Hin; right; auto]. specialize (Hin i (or_introl eq_refl)).
  unfold inner in Hin. apply andb_true_iff in Hin. tauto.
Qed.

(** [route_rises] in the form that is used here. *)
Lemma route_time wait on p q b' r u v a : b <= b' ->
  (forall l, In l (links j) -> on l = true -> rises_well j wait p q b l = true) ->
  leads j u r v -> (forall i, In i r -> on (at_link i) = true) -> is_rank j u = true -> is_rank j v = true ->
  potential p u <= a -> (forall w, In w (visited j u r) -> is_rank j w = true -> wait w <= a) ->
  potential p v <= a + lasting j b' (hops j r).
Proof.
  intros Hb Hr Hl Hon Hu Hv Ha Hw. pose proof (lasting_0 j sane b' (hops j r)).
  destruct (list_eq_dec Nat.eq_dec r []) as [->|Hne]; [simpl in Hl; subst v; lia|].
  assert (P := route_rises j sane wait on p q b' ltac:(lia)).
  assert (Hr' : forall l, In l (links j) -> on l = true -> rises_well j wait p q b' l = true).
  { intros l Hl' Ho. apply (rises_more j wait p q b); auto. apply sane, Hl'. }
  specialize (P Hr' r u v a 0 Hl Hon Hv Hne ltac:(lia)).
  assert (C : comes j wait p q u a 0).
  { unfold comes. rewrite Hu. split; auto. apply Z.max_lub; auto. apply Hw; auto. left; auto. }
  specialize (P C Hw). destruct (hops j r) as [|h hs]; unfold lasting in *; simpl in *; [lia|].
  pose proof (slowest_0 j b' h). lia.
Qed.

Variable sch : list sent.
Hypothesis good : right j sch.
Notation ts := (map data sch).

(** What a flight carries was where its hop begins in time. *)
Lemma carried w t f : spreads_well w -> In t sch -> In f (flights_of t) -> b <= size j (what (tr (data t))) ->
  (forall u x, In ((u, what (tr (data t))), x) (pre j) -> contains x w -> potential (full w) u <= arrival j u) ->
  holds j ts w (src (tr (data t))) (what (tr (data t))) (begins (data t)) ->
  early (fst (hop_use f)) (hop_from f) w <= begin_of f.
Proof.
  intros Hw Ht Hf Hb Hs Hh. destruct (proj1 good t Ht) as [[_ [Ru [Rv Hne]]] [Hl [_ [Hbg [_ Ha]]]]].
  assert (Eu : is_rank j (src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru).
  assert (Ev : is_rank j (dst (tr (data t))) = true) by (apply Nat.ltb_lt, Rv).
  destruct (flight_split _ _ _ _ _ Hf) as [hs1 [h1 [h2 [hs2 [A [B [C [D [E F]]]]]]]]].
  set (i := fst (hop_use f)) in *. set (k := what (tr (data t))) in *.
  pose proof (hops_cut _ _ _ A) as [Q _].
  pose proof (concat_hops j (route t)) as R. rewrite A, concat_app in R. simpl in R. rewrite <- R in Hl.
  destruct (leads_app _ _ _ _ Hl) as [u [L1 L2]]. pose proof (leads_far _ _ _ L1) as E1. rewrite E1 in B.
  destruct (leads_app _ _ _ _ L2) as [z [L3 L4]]. destruct (leads_app _ _ _ _ L3) as [x [L5 L6]].
  destruct L6 as [Hi [Hsrc L7]].
  assert (Vis : forall w', In w' (visited j (src (tr (data t))) (concat hs1)) -> is_rank j w' = true -> arrival j w' <= begins (data t)).
  { intros w' H' Hr'. apply Ha; auto. rewrite <- R. unfold visited in *. rewrite map_app. destruct H' as [->|H']; [left; auto|].
    right. apply in_or_app; left; auto. }
  assert (Fu : potential (full w) (src (tr (data t))) <= begins (data t)).
  { pose proof (hold_rises j sane (arrival j) (fun _ => true) (full w) (head w) (size j k) ltac:(lia)
      (fun l H' _ => rises_more j _ _ _ b _ l (proj2 (proj1 sane l H')) Hb (Hw l H'))
      sch k w (fun _ => eq_refl) (fun _ => eq_refl) good eq_refl Hs _ _ Hh) as P.
    specialize (Ha _ (or_introl eq_refl) Eu). lia. }
  assert (Ru' : is_rank j u = true).
  { apply (ends_at_rank _ _ _ L1 Eu). intros h0 Hh0. apply (hops_shape (route t) (src (tr (data t))) (dst (tr (data t)))); auto.
    - rewrite <- R. exact Hl.
    - rewrite A. apply in_or_app; auto. }
  assert (Lu : (u < nodes j)%nat) by (apply Nat.ltb_lt, Ru').
  assert (P := route_time (arrival j) (fun _ => true) (full w) (head w) (size j k) (concat hs1) _ u (begins (data t)) Hb
    (fun l H' _ => Hw l H') L1 (fun _ _ => eq_refl) Eu Ru' Fu Vis).
  rewrite Q in P.
  assert (O : over_switches (h1 ++ i :: h2)).
  { apply (hops_shape (route t) (src (tr (data t))) (dst (tr (data t)))); auto; [rewrite <- R; exact Hl|].
    rewrite A. apply in_or_app. right. left. auto. }
  assert (Pl : potential (lead u) x <= 0 + latencies j h1).
  { apply (lead_way (fun _ => true) u (lead u) h1 u); auto.
    - pose proof (lead_well u Lu) as W. unfold lead_ok in W. apply andb_true_iff in W. destruct W as [W _]. apply Z.leb_le, W.
    - apply (over_app _ _ O). }
  unfold early, begin_of. rewrite B, E. fold i. rewrite Hsrc. fold k.
  assert (due (Cut.dst (at_link i)) <= begins (data t)).
  { unfold due. destruct (is_rank j (Cut.dst (at_link i))) eqn:Er; [|lia]. apply Ha; auto. rewrite <- R. unfold visited.
    right. rewrite !map_app. apply in_or_app. right. apply in_or_app. left. apply in_or_app. right. left. auto. }
  pose proof (lasting_0 j sane (size j k) hs1). fold k in P. lia.
Qed.

(** Where a flight is: its ends are ranks, and its link's, if that is at one. *)
Lemma flight_ends t f : In t sch -> In f (flights_of t) ->
  (hop_from f < nodes j)%nat /\ (hop_to f < nodes j)%nat /\ (fst (hop_use f) < length (links j))%nat /\
  (is_rank j (Cut.src (at_link (fst (hop_use f)))) = true -> hop_from f = Cut.src (at_link (fst (hop_use f)))) /\
  (is_rank j (Cut.dst (at_link (fst (hop_use f)))) = true -> hop_to f = Cut.dst (at_link (fst (hop_use f)))) /\
  beta (at_link (fst (hop_use f))) (size j (what (tr (data t)))) <= hop_slow f /\ 0 <= hop_slow f /\
  long (snd (hop_use f)) = hop_slow f + beside j (fst (hop_use f)).
Proof.
  intros Ht Hf. destruct (proj1 good t Ht) as [[_ [Ru [Rv Hne]]] [Hl _]].
  assert (Eu : is_rank j (src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru).
  assert (Ev : is_rank j (dst (tr (data t))) = true) by (apply Nat.ltb_lt, Rv).
  destruct (flight_split _ _ _ _ _ Hf) as [hs1 [h1 [h2 [hs2 [A [B [C [D [E F]]]]]]]]].
  set (i := fst (hop_use f)) in *.
  pose proof (hops_shape _ _ _ Hl Ev) as Sh.
  pose proof (concat_hops j (route t)) as R. rewrite A, concat_app in R. simpl in R. rewrite <- R in Hl.
  destruct (leads_app _ _ _ _ Hl) as [u [L1 L2]]. pose proof (leads_far _ _ _ L1) as E1. rewrite E1 in B.
  destruct (leads_app _ _ _ _ L2) as [z [L3 L4]]. destruct (leads_app _ _ _ _ L3) as [x [L5 L6]].
  pose proof (leads_far _ _ _ L3) as E2. rewrite B, E2 in C.
  destruct L6 as [Hi [Hsrc L7]].
  destruct (Sh (h1 ++ i :: h2)) as [_ [O Z']]; [rewrite A; apply in_or_app; right; left; auto|].
  repeat split; auto.
  - rewrite B. apply Nat.ltb_lt. change (is_rank j u = true).
    apply (ends_at_rank _ _ _ L1 Eu). intros h0 Hh0. apply Sh. rewrite A. apply in_or_app; auto.
  - rewrite C, <- E2. apply Nat.ltb_lt. change (is_rank j (far u (h1 ++ i :: h2)) = true). apply Z'.
  - intros Hr. rewrite Hsrc in *. rewrite B. pose proof (starts_at_rank _ _ _ _ _ L5 O Hr). subst h1. exact L5.
  - intros Hr. destruct (over_app _ _ O) as [_ [[->|H] _]]; [|congruence]. rewrite C. simpl in L7. auto.
  - rewrite D. apply slowest_ge. apply in_or_app. right. left. auto.
  - rewrite D. apply slowest_0.
Qed.

(** Where something comes to a rank of the set that was outside at first, it enters last by
    some flight, from which the rest of its way stays inside. *)
Lemma enters_last c k : (forall u x, In ((u, k), x) (pre j) -> contains x c -> X u = false) -> b <= size j k ->
  forall v x, holds j ts c v k x -> X v = true ->
  exists t f, In t sch /\ what (tr (data t)) = k /\ In f (flights_of t) /\
    enters (at_link (fst (hop_use f))) = true /\
    holds j ts c (src (tr (data t))) k (begins (data t)) /\ X (hop_to f) = true /\
    begin_of f + length_of f + late (fst (hop_use f)) (hop_to f) v <= x.
Proof.
  intros Hs Hb v x H. remember k as k' eqn:Ek in H. induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx]; intros Hv.
  - subst k'. apply lookup_In in Hl. rewrite (Hs _ _ Hl Hc) in Hv. discriminate.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]].
    destruct (proj1 good s Hin) as [[_ [Ru [Rv Hne]]] [Hl [_ [Hbg [He Ha]]]]].
    assert (Eu : is_rank j (src (tr (data s))) = true) by (apply Nat.ltb_lt, Ru).
    assert (Ev : is_rank j (dst (tr (data s))) = true) by (apply Nat.ltb_lt, Rv).
    unfold duration in He. fold (lasting j (size j (what (tr (data s)))) (hops j (route s))) in He. rewrite Ek in *.
    destruct (last_crossing _ _ _ Hl Hv) as [[Hu Hin']|[r1 [i [r2 [R [Hen Hin']]]]]].
    + destruct (IH eq_refl Hu) as [t [f [A [B [C [D [E [F G]]]]]]]]. exists t, f. repeat split; auto.
      set (z := hop_to f) in *. set (i := fst (hop_use f)) in *.
      destruct (flight_ends t f A C) as [_ [Hz _]]. destruct (onto_well z Hz F) as [_ O].
      unfold late in *.
      set (e := begin_of f + length_of f + (rest i + potential (beyond (Cut.dst (at_link i))) z)).
      assert (P := route_time (fun _ => 0) inner (onto z) (onto_head z) (size j k) (route s) _ _ (begins (data s) - e)
        Hb O Hl Hin' Eu Ev ltac:(unfold e; lia) ltac:(intros; unfold e; lia)).
      pose proof (lasting_0 j sane (size j k) (hops j (route s))). unfold e in P. lia.
    + assert (Q : concat (hops j (route s)) = r1 ++ i :: r2) by (rewrite concat_hops; exact R). destruct (concat_split _ _ _ _ Q) as [hs1 [h1 [h2 [hs2 [A [B C]]]]]].
      destruct (flight_there (size j k) hs1 h1 i h2 hs2 (begins (data s)) (src (tr (data s)))) as [f [F1 [F2 [F3 [F4 F5]]]]].
      rewrite <- A in F1.
      assert (Hf : In f (flights_of s)) by (unfold flights_of; rewrite Ek; exact F1).
      exists s, f. rewrite F2.
      pose proof (hops_shape _ _ _ Hl Ev) as Sh.
      destruct (Sh (h1 ++ i :: h2)) as [_ [Ov Z']]; [rewrite A; apply in_or_app; right; left; auto|].
      assert (Hl' : leads j (src (tr (data s))) (concat hs1 ++ (h1 ++ i :: h2) ++ concat hs2) (dst (tr (data s)))).
      { rewrite <- app_assoc. simpl. rewrite <- C, app_assoc, <- B, <- R. exact Hl. }
      destruct (leads_app _ _ _ _ Hl') as [u [L1 L2]]. destruct (leads_app _ _ _ _ L2) as [z [L3 L4]].
      destruct (leads_app _ _ _ _ L3) as [x0 [L5 [Hi [Hsrc L7]]]].
      rewrite (leads_far _ _ _ L1), (leads_far _ _ _ L3) in F3.
      assert (Hy : X (Cut.dst (at_link i)) = true) by (unfold enters in Hen; apply andb_true_iff in Hen; tauto).
      assert (In2 : forall i', In i' h2 -> inner (at_link i') = true) by (intros; apply Hin'; rewrite C; apply in_or_app; auto).
      assert (In3 : forall i', In i' (concat hs2) -> inner (at_link i') = true) by (intros; apply Hin'; rewrite C; apply in_or_app; auto).
      assert (Xz : X z = true) by (apply (stays h2 _ _ L7 Hy In2)).
      assert (Rz : is_rank j z = true) by (rewrite <- (leads_far _ _ _ L3); apply Z').
      assert (Lz : (z < nodes j)%nat) by (apply Nat.ltb_lt, Rz).
      rewrite F3. repeat split; auto.
      destruct (over_app _ _ Ov) as [_ [Ov1 Ov2]].
      assert (P1 : potential (beyond (Cut.dst (at_link i))) z <= 0 + latencies j h2).
      { pose proof (beyond_well _ Hi Hen) as W. apply (lead_way inner (Cut.dst (at_link i)) _ h2 (Cut.dst (at_link i))); auto.
        unfold lead_ok in W. apply andb_true_iff in W. destruct W as [W _]. apply Z.leb_le, W. }
      destruct (onto_well z Lz Xz) as [O1 O].
      assert (P2 := route_time (fun _ => 0) inner (onto z) (onto_head z) (size j k) (concat hs2) _ _ 0
        Hb O L4 In3 Rz Ev O1 ltac:(intros; lia)).
      assert (A' : hops j (route s) = (hs1 ++ [h1 ++ i :: h2]) ++ hs2) by (rewrite <- app_assoc; exact A).
      destruct (hops_cut _ _ _ A') as [_ H2]. rewrite H2 in P2.
      pose proof (lasting_0 j sane (size j k) hs2). rewrite A in He. unfold lasting in He.
      rewrite sum_app in He. cbn [sum fold_right] in He. fold (lasting j (size j k) hs1) in He.
      change (fold_right (fun x s => latencies j x + slowest j (size j k) x + s) 0 hs2) with (lasting j (size j k) hs2) in He.
      assert (latencies j (h1 ++ i :: h2) = latencies j h1 + latency (at_link i) + latencies j h2).
      { unfold latencies. rewrite sum_app. simpl. unfold sum. lia. }
      unfold begin_of, length_of, late, rest. rewrite F5, F4, F2. fold (lasting j (size j k) hs1). lia.
Qed.

(** ** All pairs *)

Definition flown : list (sent * flight) := flat_map (fun t => map (pair t) (flights_of t)) sch.
Definition of_chunk (x : sent * flight) : nat := what (tr (data (fst x))).
Definition of_link (x : sent * flight) : nat := fst (hop_use (snd x)).
Definition entered : list (sent * flight) := filter (fun x => enters (at_link (of_link x))) flown.

Lemma in_flown t f : In (t, f) flown <-> In t sch /\ In f (flights_of t).
Proof.
  unfold flown. rewrite in_flat_map. split.
  - intros [x [A B]]. apply in_map_iff in B. destruct B as [y [[= <- <-] B]]. auto.
  - intros [A B]. exists t. split; auto. apply in_map, B.
Qed.
Lemma flown_uses : map (fun x => hop_use (snd x)) flown = uses j sch.
Proof.
  unfold flown, uses. clear. induction sch as [|t l IH]; simpl; auto.
  rewrite map_app, map_map, IH. f_equal. apply flights_uses.
Qed.
Lemma flown_apart : ForallOrdPairs (fun x y => of_link x = of_link y -> apart (snd (hop_use (snd x))) (snd (hop_use (snd y)))) flown.
Proof.
  pose proof (proj1 (proj2 good)) as D. unfold disjoint in D. rewrite <- flown_uses in D. revert D.
  induction flown as [|x l IH]; simpl; intros D; inversion D as [|? ? A B]; subst; constructor; auto.
  rewrite Forall_forall in *. intros y Hy. apply A. apply (in_map (fun x => hop_use (snd x))), Hy.
Qed.

Variable T : Z.
Hypothesis ended : makespan sch <= T.
Variables S D : nat -> list nat.   (* by chunk: contributions from outside, and ranks of the set that need them *)
Variable weight : nat -> Z.
Variables G H : nat -> list Z.     (* by link into the set *)
Hypothesis once : forall k, NoDup (S k) /\ NoDup (D k).
Hypothesis sources : forall k w, In w (S k) -> spreads_well w /\
  forall u x, In ((u, k), x) (pre j) -> contains x w -> X u = false /\ potential (full w) u <= arrival j u.
Hypothesis dests : forall k v w, In w (S k) -> In v (D k) ->
  b <= size j k /\ X v = true /\ exists x, In ((v, k), x) (post j) /\ contains x w.
Hypothesis heads : forall i u k t, (i < length (links j))%nat -> enters (at_link i) = true -> (u < nodes j)%nat ->
  (is_rank j (Cut.src (at_link i)) = true -> u = Cut.src (at_link i)) ->
  over (map (early i u) (S k)) t <= over (G i) t.
Hypothesis tails : forall i z k t, (i < length (links j))%nat -> enters (at_link i) = true -> (z < nodes j)%nat -> X z = true ->
  (is_rank j (Cut.dst (at_link i)) = true -> z = Cut.dst (at_link i)) ->
  over (map (late i z) (D k)) t <= over (H i) t.
Hypothesis weighs : forall k, 0 <= weight k /\ forall i, (i < length (links j))%nat -> enters (at_link i) = true ->
  weight k <= bandwidth (at_link i) * (beta (at_link i) (size j k) + if within then beside j i else 0).

Definition worth (x : sent * flight) : Z :=
  weight (of_chunk x) * (over (G (of_link x)) (begin_of (snd x)) * over (H (of_link x)) (T - (begin_of (snd x) + length_of (snd x)))).
Lemma over_0 l t : 0 <= over l t.
Proof. apply sum_pos. intros x _. destruct (x <=? t); lia. Qed.
Lemma over_map {A} (f : A -> Z) l t : over (map f l) t = Z.of_nat (length (filter (fun x => f x <=? t) l)).
Proof. rewrite over_length. f_equal. induction l as [|x l IH]; simpl; auto. destruct (f x <=? t); simpl; auto. Qed.

(** A flight into the set from or to which nothing of the set's ends leads counts for nothing. *)
Definition inside_end (x : sent * flight) : bool := X (hop_to (snd x)).

Lemma chunk_pairs k : weight k * (Z.of_nat (length (S k)) * Z.of_nat (length (D k))) <=
  sum worth (filter (fun x => Nat.eqb (of_chunk x) k) entered).
Proof.
  set (xs := filter inside_end (filter (fun x => Nat.eqb (of_chunk x) k) entered)).
  assert (W : forall x, 0 <= worth x).
  { intros x. unfold worth. pose proof (proj1 (weighs (of_chunk x))).
    pose proof (over_0 (G (of_link x)) (begin_of (snd x))).
    pose proof (over_0 (H (of_link x)) (T - (begin_of (snd x) + length_of (snd x)))). nia. }
  assert (E := pairs_in_rectangles (S k) (D k) xs
    (fun x w => early (of_link x) (hop_from (snd x)) w <=? begin_of (snd x))
    (fun x v => late (of_link x) (hop_to (snd x)) v <=? T - (begin_of (snd x) + length_of (snd x)))
    (proj1 (once k)) (proj2 (once k))).
  apply Z.le_trans with (weight k * sum (fun x => over (G (of_link x)) (begin_of (snd x)) *
    over (H (of_link x)) (T - (begin_of (snd x) + length_of (snd x)))) xs).
  - apply Z.mul_le_mono_nonneg_l; [apply weighs|]. eapply Z.le_trans; [apply E|].
    + intros w v Hw Hv. destruct (sources k w Hw) as [Sw So]. destruct (dests k v w Hw Hv) as [Sb [Xv [x [Hx Hc]]]].
      destruct (enters_last w k (fun u x A B => proj1 (So u x A B)) Sb v (makespan sch)
        (right_holds j sch v k x w good Hx Hc) Xv) as [t [f [A [B [C [F [Q [R U]]]]]]]].
      exists (t, f). split; [|split].
      * apply filter_In. split; [|exact R]. apply filter_In. split; [|apply Nat.eqb_eq, B].
        apply filter_In. split; [apply in_flown; auto|exact F].
      * apply Z.leb_le. apply (carried w t f); auto; rewrite B; auto. intros u y H1 H2. apply (So u y); auto.
      * apply Z.leb_le. unfold of_link. simpl. lia.
    + apply sum_le. intros [t f] Hx. unfold xs, entered in Hx. rewrite !filter_In in Hx. destruct Hx as [[[Hx Hen] _] Hin].
      apply in_flown in Hx. destruct Hx as [Ht Hf]. destruct (flight_ends t f Ht Hf) as [R1 [R2 [R3 [R4 [R5 _]]]]].
      unfold of_link in *. cbn [fst snd] in *.
      apply Z.mul_le_mono_nonneg; try apply Nat2Z.is_nonneg.
      * rewrite <- (over_map (early (fst (hop_use f)) (hop_from f))). apply heads; auto.
      * rewrite <- (over_map (late (fst (hop_use f)) (hop_to f))). apply tails; auto.
  - rewrite <- sum_mul. apply Z.le_trans with (sum worth xs).
    + apply sum_le. intros x Hx. unfold xs in Hx. rewrite !filter_In in Hx. destruct Hx as [[_ Hk] _].
      apply Nat.eqb_eq in Hk. unfold worth. rewrite Hk. lia.
    + unfold xs. rewrite sum_filter. apply sum_le. intros x _. specialize (W x). destruct (inside_end x); lia.
Qed.

Definition room (i : nat) : Z := sum (fun g => sum (fun h => Z.max 0 (T - g - h)) (H i)) (G i).

Lemma link_room i : (i < length (links j))%nat -> enters (at_link i) = true ->
  sum worth (filter (fun x => Nat.eqb (of_link x) i) entered) <= bandwidth (at_link i) * room i.
Proof.
  intros Hi Hen. set (xs := filter (fun x => Nat.eqb (of_link x) i) entered).
  pose proof (proj2 (sane_link j sane i)) as Bw.
  assert (In_xs : forall x, In x xs -> In (fst x) sch /\ In (snd x) (flights_of (fst x)) /\ of_link x = i).
  { intros [t f] Hx. unfold xs, entered in Hx. rewrite !filter_In in Hx. destruct Hx as [[Hx _] E].
    apply in_flown in Hx. apply Nat.eqb_eq in E. tauto. }
  assert (Len : forall x, In x xs -> 0 <= length_of (snd x) <= long (snd (hop_use (snd x))) /\
    weight (of_chunk x) <= bandwidth (at_link i) * length_of (snd x)).
  { intros x Hx. destruct (In_xs x Hx) as [A [B C]]. unfold of_link in C.
    destruct (flight_ends _ _ A B) as [_ [_ [_ [_ [_ [R1 [R2 R3]]]]]]]. rewrite R3, C in *. unfold length_of. rewrite C.
    pose proof (proj2 (weighs (of_chunk x)) i Hi Hen) as W. unfold of_chunk in *.
    assert (0 <= beside j i) by (unfold beside; destruct (model j); [apply sane_link; auto|lia]).
    assert (beta (at_link i) (size j (what (tr (data (fst x))))) + (if within then beside j i else 0) <=
       hop_slow (snd x) + (if within then beside j i else 0)) by lia.
    destruct within; split; try lia; nia. }
  apply Z.le_trans with (bandwidth (at_link i) * sum (fun x => length_of (snd x) *
    (over (G i) (begin_of (snd x)) * over (H i) (T - (begin_of (snd x) + length_of (snd x))))) xs).
  { rewrite <- sum_mul. apply sum_le. intros x Hx. destruct (Len x Hx) as [L1 L2]. destruct (In_xs x Hx) as [_ [_ C]].
    unfold worth. rewrite C. pose proof (over_0 (G i) (begin_of (snd x))).
    pose proof (over_0 (H i) (T - (begin_of (snd x) + length_of (snd x)))).
    rewrite (Z.mul_assoc (bandwidth (at_link i))). apply Z.mul_le_mono_nonneg_r; [nia|exact L2]. }
  apply Z.mul_le_mono_nonneg_l; [lia|].
  set (both := fun (g h : Z) (x : sent * flight) => if (g <=? begin_of (snd x)) && (h <=? T - (begin_of (snd x) + length_of (snd x)))
                            then length_of (snd x) else 0).
  rewrite (sum_eq _ (fun x => sum (fun g => sum (fun h => both g h x) (H i)) (G i))).
  - rewrite sum_swap. unfold room. apply sum_le. intros g _. rewrite sum_swap. apply sum_le. intros h _.
    unfold both. rewrite <- sum_filter.
    set (ys := filter _ xs). assert (Sub : forall x, In x ys -> In x xs /\ g <= begin_of (snd x) /\
       h <= T - (begin_of (snd x) + length_of (snd x))).
    { intros x Hx. apply filter_In in Hx. destruct Hx as [A B]. apply andb_true_iff in B. rewrite !Z.leb_le in B. auto. }
    destruct ys as [|y ys'] eqn:E; [simpl; lia|]. rewrite <- E in *.
    assert (Hy : In y ys) by (rewrite E; left; auto). destruct (Sub y Hy) as [Y1 [Y2 Y3]]. pose proof (proj1 (Len y Y1)).
    enough (sum (fun x => length_of (snd x)) ys <= (T - h) - g) by lia.
    set (window := fun x : sent * flight => Span (begin_of (snd x)) (length_of (snd x))).
    replace (sum _ ys) with (sum long (map window ys)) by (rewrite sum_map; reflexivity).
    apply (spans_fit (length (map window ys))); auto; [lia| |].
    + intros a Ha. apply in_map_iff in Ha. destruct Ha as [x [<- Hx]]. destruct (Sub x Hx) as [X1 [X2 X3]].
      pose proof (proj1 (Len x X1)). simpl. lia.
    + assert (A : ForallOrdPairs (fun x y => of_link x = of_link y -> apart (snd (hop_use (snd x))) (snd (hop_use (snd y)))) ys)
        by (apply pairs_filter, pairs_filter, pairs_filter, flown_apart).
      clear - A Sub In_xs Len. induction A as [|x l Hx A IH]; simpl; constructor.
      * rewrite Forall_forall in *. intros w Hw. apply in_map_iff in Hw. destruct Hw as [z [<- Hz]].
        destruct (Sub x (or_introl eq_refl)) as [X1 _]. destruct (Sub z (or_intror Hz)) as [Z1 _].
        destruct (In_xs x X1) as [_ [_ C1]]. destruct (In_xs z Z1) as [_ [_ C2]].
        specialize (Hx z Hz). rewrite C1, C2 in Hx. specialize (Hx eq_refl).
        pose proof (proj1 (Len x X1)). pose proof (proj1 (Len z Z1)).
        unfold apart, window, begin_of in *. simpl in *. lia.
      * apply IH. intros z Hz. apply Sub. right; auto.
  - intros x _. unfold over, both. rewrite product_of_sums, <- sum_mul. apply sum_eq. intros g _.
    rewrite <- sum_mul. apply sum_eq. intros h _.
    destruct (g <=? begin_of (snd x)), (h <=? T - (begin_of (snd x) + length_of (snd x))); simpl; lia.
Qed.

Theorem covered : sum (fun k => weight k * (Z.of_nat (length (S k)) * Z.of_nat (length (D k)))) (seq 0 (length (sizes j))) <=
  sum (fun i => bandwidth (at_link i) * room i) (some_links j enters).
Proof.
  apply Z.le_trans with (sum worth entered).
  - rewrite (sum_by of_chunk worth (seq 0 (length (sizes j))) entered).
    + apply sum_le. intros k _. apply chunk_pairs.
    + apply seq_NoDup.
    + intros [t f] Hx. unfold entered in Hx. rewrite filter_In, in_flown in Hx. destruct Hx as [[Ht _] _].
      apply in_seq. destruct (proj1 good t Ht) as [[Q _] _]. unfold of_chunk. simpl. lia.
  - rewrite (sum_by of_link worth (some_links j enters) entered).
    + apply sum_le. intros i Hi. unfold some_links in Hi. rewrite filter_In, in_seq in Hi. apply link_room; [lia|apply Hi].
    + apply some_links_once.
    + intros [t f] Hx. unfold entered in Hx. rewrite filter_In, in_flown in Hx. destruct Hx as [[Ht Hf] E].
      destruct (flight_ends t f Ht Hf) as [_ [_ [R _]]]. apply in_some_links; auto.
Qed.

(** ** How many *)

(** No flight into the set by a link begins before [E], and what it brings takes [L] after it. *)
Variables E L : nat -> Z.
Hypothesis begins_late : forall i u k w, (i < length (links j))%nat -> enters (at_link i) = true -> (u < nodes j)%nat ->
  (is_rank j (Cut.src (at_link i)) = true -> u = Cut.src (at_link i)) -> In w (S k) -> E i <= early i u w.
Hypothesis ends_early : forall i z k v, (i < length (links j))%nat -> enters (at_link i) = true -> (z < nodes j)%nat -> X z = true ->
  (is_rank j (Cut.dst (at_link i)) = true -> z = Cut.dst (at_link i)) -> In v (D k) -> L i <= late i z v.
Definition span_of (i : nat) : Z := beta (at_link i) b + if within then beside j i else 0.
Hypothesis spans_take : forall i, (i < length (links j))%nat -> enters (at_link i) = true -> 0 < span_of i.
Variable ks : list nat.
Hypothesis ks_once : NoDup ks.
Hypothesis ks_paired : forall k, In k ks -> S k <> [] /\ D k <> [].

Definition timely (x : sent * flight) : bool :=
  existsb (Nat.eqb (of_chunk x)) ks && (E (of_link x) <=? begin_of (snd x)) &&
  (begin_of (snd x) + length_of (snd x) <=? T - L (of_link x)).

Lemma all_timely : incl ks (map of_chunk (filter timely entered)).
Proof.
  intros k Hk. destruct (ks_paired k Hk) as [HS HD].
  destruct (S k) as [|w Sk] eqn:ES; [congruence|]. destruct (D k) as [|v Dk] eqn:ED; [congruence|].
  assert (Hw : In w (S k)) by (rewrite ES; left; auto). assert (Hv : In v (D k)) by (rewrite ED; left; auto).
  destruct (sources k w Hw) as [Sw So]. destruct (dests k v w Hw Hv) as [Sb [Xv [x [Hx Hc]]]].
  destruct (enters_last w k (fun u x A B => proj1 (So u x A B)) Sb v (makespan sch)
    (right_holds j sch v k x w good Hx Hc) Xv) as [t [f [A [B [C [F [Q [R U]]]]]]]].
  apply in_map_iff. exists (t, f). split; [exact B|]. apply filter_In. split.
  - apply filter_In. split; [apply in_flown; auto|exact F].
  - destruct (flight_ends t f A C) as [R1 [R2 [R3 [R4 [R5 _]]]]].
    assert (P1 : early (fst (hop_use f)) (hop_from f) w <= begin_of f).
    { apply (carried w t f); auto; rewrite B; auto. intros u y H1 H2. apply (So u y); auto. }
    pose proof (begins_late (fst (hop_use f)) (hop_from f) k w R3 F R1 R4 Hw).
    pose proof (ends_early (fst (hop_use f)) (hop_to f) k v R3 F R2 R R5 Hv).
    unfold timely, of_link, of_chunk. cbn [fst snd]. rewrite !andb_true_iff, !Z.leb_le. repeat split; try lia.
    apply existsb_exists. exists k. split; auto. apply Nat.eqb_eq, B.
Qed.

Lemma link_counts i : (i < length (links j))%nat -> enters (at_link i) = true ->
  Z.of_nat (length (filter (fun x => Nat.eqb (of_link x) i) (filter timely entered))) <= Z.max 0 (T - L i - E i) / span_of i.
Proof.
  intros Hi Hen. set (xs := filter (fun x => Nat.eqb (of_link x) i) (filter timely entered)).
  pose proof (spans_take i Hi Hen) as Sp. apply Z.div_le_lower_bound; auto.
  assert (In_xs : forall x, In x xs -> In (fst x) sch /\ In (snd x) (flights_of (fst x)) /\ of_link x = i /\ timely x = true).
  { intros [t f] Hx. unfold xs, entered in Hx. rewrite !filter_In in Hx. destruct Hx as [[[Hx _] Tm] Eq].
    apply in_flown in Hx. apply Nat.eqb_eq in Eq. tauto. }
  assert (Len : forall x, In x xs -> 0 <= length_of (snd x) <= long (snd (hop_use (snd x))) /\ span_of i <= length_of (snd x)).
  { intros x Hx. destruct (In_xs x Hx) as [A [B [C Tm]]]. unfold of_link in C.
    destruct (flight_ends _ _ A B) as [_ [_ [_ [_ [_ [R1 [R2 R3]]]]]]]. rewrite R3, C in *. unfold length_of. rewrite C.
    unfold timely in Tm. rewrite !andb_true_iff in Tm. destruct Tm as [[Tm _] _]. apply existsb_exists in Tm.
    destruct Tm as [k [Hk Ek]]. apply Nat.eqb_eq in Ek. destruct (ks_paired k Hk) as [HS HD].
    assert (Sb : b <= size j k).
    { destruct (S k) as [|w Sk] eqn:ES; [congruence|]. destruct (D k) as [|v Dk] eqn:ED; [congruence|].
      apply (dests k v w); [rewrite ES|rewrite ED]; left; auto. }
    unfold of_chunk in Ek. rewrite Ek in R1. pose proof (beta_mono (at_link i) _ _ (proj2 (sane_link j sane i)) Sb).
    assert (0 <= beside j i) by (unfold beside; destruct (model j); [apply sane_link; auto|lia]).
    unfold span_of. destruct within; lia. }
  apply Z.le_trans with (sum (fun x => length_of (snd x)) xs).
  { rewrite <- sum_one, <- sum_mul. apply sum_le. intros x Hx. destruct (Len x Hx). lia. }
  destruct xs as [|y ys'] eqn:Eq; [simpl; lia|]. rewrite <- Eq in *.
  assert (Tm : forall x, In x xs -> E i <= begin_of (snd x) /\ begin_of (snd x) + length_of (snd x) <= T - L i).
  { intros x Hx. destruct (In_xs x Hx) as [_ [_ [C Q]]]. unfold timely in Q. rewrite !andb_true_iff, !Z.leb_le, C in Q. tauto. }
  assert (Hy : In y xs) by (rewrite Eq; left; auto). destruct (Tm y Hy) as [Y2 Y3]. pose proof (proj1 (Len y Hy)).
  enough (sum (fun x => length_of (snd x)) xs <= (T - L i) - E i) by lia.
  set (window := fun x : sent * flight => Span (begin_of (snd x)) (length_of (snd x))).
  replace (sum _ xs) with (sum long (map window xs)) by (rewrite sum_map; reflexivity).
  apply (spans_fit (length (map window xs))); auto; [lia| |].
  + intros a Ha. apply in_map_iff in Ha. destruct Ha as [x [<- Hx]]. destruct (Tm x Hx) as [X2 X3].
    pose proof (proj1 (Len x Hx)). simpl. lia.
  + assert (A : ForallOrdPairs (fun x y => of_link x = of_link y -> apart (snd (hop_use (snd x))) (snd (hop_use (snd y)))) xs)
      by (apply pairs_filter, pairs_filter, pairs_filter, flown_apart).
    clear - A In_xs Len. induction A as [|x l Hx A IH]; simpl; constructor.
    * rewrite Forall_forall in *. intros w Hw. apply in_map_iff in Hw. destruct Hw as [z [<- Hz]].
      destruct (In_xs x (or_introl eq_refl)) as [_ [_ [C1 _]]]. destruct (In_xs z (or_intror Hz)) as [_ [_ [C2 _]]].
      specialize (Hx z Hz). rewrite C1, C2 in Hx. specialize (Hx eq_refl).
      pose proof (proj1 (Len x (or_introl eq_refl))). pose proof (proj1 (Len z (or_intror Hz))).
      unfold apart, window, begin_of in *. simpl in *. lia.
    * apply IH; intros z Hz; [apply In_xs|apply Len]; right; auto.
Qed.

Theorem counted : Z.of_nat (length ks) <= sum (fun i => Z.max 0 (T - L i - E i) / span_of i) (some_links j enters).
Proof.
  assert (Q : (length ks <= length (filter timely entered))%nat).
  { rewrite <- (map_length of_chunk (filter timely entered)). apply NoDup_incl_length; auto using all_timely. }
  apply Z.le_trans with (sum (fun _ => 1) (filter timely entered)); [rewrite sum_one; lia|].
  rewrite (sum_by of_link _ (some_links j enters)).
  - apply sum_le. intros i Hi. unfold some_links in Hi. rewrite filter_In, in_seq in Hi. rewrite sum_one. apply link_counts; [lia|apply Hi].
  - apply some_links_once.
  - intros [t f] Hx. unfold entered in Hx. rewrite !filter_In, in_flown in Hx. destruct Hx as [[[Ht Hf] En] _].
    destruct (flight_ends t f Ht Hf) as [_ [_ [R _]]]. apply in_some_links; auto.
Qed.
End Cover.
End Job.
