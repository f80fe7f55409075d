(** The lemma (coverage) of package cert: what enters a set of nodes early is a sum of few
    contributions, and what enters it late can serve few ranks; where switches copy or add, too.
    Each pair is counted at every instant at which what serves it occupies the link over which
    it enters for the last time. At one instant a link has one chunk; what it carries came from
    one rank unless a switch that adds leads to the link over switches alone, and goes to one rank
    unless the link leads so, inside the set, to a switch that copies. *)
From Coq Require Import Bool List ZArith Lia FinFun.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds InRounds Copying Adding Loose.
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

Lemma over_0 l t : 0 <= over l t.
Proof. apply sum_pos. intros x _. destruct (x <=? t); lia. Qed.
Lemma over_map {A} (f : A -> Z) l t : over (map f l) t = Z.of_nat (length (filter (fun x => f x <=? t) l)).
Proof. rewrite over_length. f_equal. induction l as [|x l IH]; simpl; auto. destruct (f x <=? t); simpl; auto. Qed.

Lemma sum_flat_map {A B} (g : B -> Z) (f : A -> list B) l : sum g (flat_map f l) = sum (fun x => sum g (f x)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [flat_map]. rewrite sum_app, IH. reflexivity. Qed.
Lemma once_app {A} (p q : list A) : NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q).
Proof.
  induction p as [|e p IH]; simpl; intros Hp Hq Hd; auto. inversion Hp; subst.
  constructor; [|apply IH; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto.
Qed.
Lemma once_flat_map {A B} (f : A -> list B) l : NoDup l -> (forall x, In x l -> NoDup (f x)) ->
  (forall x y e, In e (f x) -> In e (f y) -> x = y) -> NoDup (flat_map f l).
Proof.
  induction 1 as [|x l Hx Hl IH]; intros Hf Hd; cbn [flat_map]; [constructor|]. apply once_app.
  - apply Hf. left; auto.
  - apply IH; auto. intros y Hy. apply Hf. right; auto.
  - intros e He Hf'. apply in_flat_map in Hf'. destruct Hf' as [y [Hy Hin]]. rewrite (Hd x y e He Hin) in Hx. auto.
Qed.
Lemma once_prod {A B} (l : list A) (r : list B) : NoDup l -> NoDup r -> NoDup (list_prod l r).
Proof.
  intros Hl Hr. induction Hl as [|x l Hx Hl IH]; simpl; [constructor|]. apply once_app; auto.
  - apply Injective_map_NoDup; auto. intros y z [=]. auto.
  - intros [e1 e2] He Hf. apply in_map_iff in He. destruct He as [y [[= <- <-] _]]. apply in_prod_iff in Hf. tauto.
Qed.
Lemma once_kept {A B} (f : A -> B) g l : NoDup (map f l) -> NoDup (map f (filter g l)).
Proof.
  induction l as [|x l IH]; simpl; intros H; [constructor|]. inversion H as [|? ? Hn Hd]; subst. destruct (g x); simpl; auto.
  constructor; auto. intros Hin. apply Hn. apply in_map_iff in Hin. destruct Hin as [y [<- Hy]]. apply in_map. apply filter_In in Hy. apply Hy.
Qed.

Lemma one_more {A} n : forall l : list A, skipn (S n) l = skipn 1 (skipn n l).
Proof. induction n as [|n IH]; intros [|x l]; try reflexivity. exact (IH l). Qed.

(** How many of the instants from 0 to [n] are between two times. *)
Definition instants (n : nat) : list Z := map Z.of_nat (seq 0 n).
Lemma instants_between a b n : sum (fun s => if (a <=? s) && (s <? b) then 1 else 0) (instants n) = Z.max 0 (Z.min b (Z.of_nat n) - Z.max a 0).
Proof.
  unfold instants. rewrite sum_map. induction n as [|n IH]; [simpl; lia|]. rewrite seq_S, sum_app, IH. cbn [sum fold_right Nat.add].
  destruct (Z.leb_spec a (Z.of_nat n)), (Z.ltb_spec (Z.of_nat n) b); cbn [andb]; lia.
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
Lemma leads_at r : forall n i u v, leads j u r v -> nth_error r n = Some i ->
  leads j u (firstn n r) (Cut.src (at_link i)) /\ leads j (Cut.dst (at_link i)) (skipn (S n) r) v.
Proof.
  induction r as [|a r IH]; intros [|n] i u v Hl Hn; try discriminate; destruct Hl as [A [B C]].
  - injection Hn as <-. split; [symmetry; exact B|exact C].
  - destruct (IH n i _ _ C Hn) as [D E]. split; [split; auto|exact E].
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


Variable net : network.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose j net occ sch.
Notation ts := (map data sch).

(** ** What occupies links *)

Lemma flights_are_uses t : map hop_use (flights_of t) = uses_of j t.
Proof. apply flights_uses. Qed.

(** A flight, and when it occupies its link: the switch at its source may have waited. *)
Record entry := Entry { of_sent : sent; flown : flight; busy : span }.
Definition of_chunk (x : entry) : nat := what (tr (data (of_sent x))).
Definition of_link (x : entry) : nat := fst (hop_use (flown x)).
Definition begin_of (x : entry) : Z := first (busy x).
Definition spare (t : sent) : Z := ends (data t) - begins (data t) - duration j (size j (what (tr (data t)))) (route t).
Definition is_entry (x : entry) : Prop :=
  In (of_sent x) sch /\ In (flown x) (flights_of (of_sent x)) /\ In (of_link x, busy x) (occ (of_sent x)) /\
  long (busy x) = long (snd (hop_use (flown x))) /\ first (snd (hop_use (flown x))) <= begin_of x /\
  begin_of x - first (snd (hop_use (flown x))) <= spare (of_sent x).

Lemma flight_occupies t f : In t sch -> In f (flights_of t) -> exists sp, is_entry (Entry t f sp).
Proof.
  intros Ht Hf. pose proof (in_map hop_use _ _ Hf) as Hu. rewrite flights_are_uses in Hu.
  assert (Hr : In (fst (hop_use f)) (route t)) by (rewrite <- (uses_of_route j t); apply in_map, Hu).
  destruct (has_use j net occ sch good t _ Ht Hr) as [[i sp] [Hin E]]. cbn [fst] in E. subst i.
  destruct (keep_pace _ _ _ _ good t _ sp Ht Hin) as [sp0 [H0 [L [P Q]]]].
  assert (E : hop_use f = (fst (hop_use f), sp0)).
  { destruct (In_nth_error _ _ Hu) as [n Hn]. destruct (In_nth_error _ _ H0) as [m Hm].
    assert (n = m).
    { apply (same_place (route t) n m (fst (hop_use f))); [apply (have_routes _ _ _ _ good t Ht)| |]; rewrite <- (uses_of_route j t).
      - transitivity (option_map fst (nth_error (uses_of j t) n)); [apply nth_error_map|exact (f_equal (option_map fst) Hn)].
      - transitivity (option_map fst (nth_error (uses_of j t) m)); [apply nth_error_map|exact (f_equal (option_map fst) Hm)]. }
    subst m. pose proof (eq_trans (eq_sym Hn) Hm) as Q'. injection Q' as Q'. exact Q'. }
  exists sp. unfold is_entry, begin_of, of_link, spare. cbn [of_sent flown busy]. rewrite E. cbn [fst snd]. repeat split; auto.
Qed.

(** The last rank that a way has visited, and the next that it visits. *)
Fixpoint last_rank (u : nat) (r : list nat) : nat :=
  match r with [] => u | i :: r => last_rank (if is_rank j (Cut.dst (at_link i)) then Cut.dst (at_link i) else u) r end.
Fixpoint next_rank (v : nat) (r : list nat) : nat :=
  if is_rank j v then v else match r with [] => v | i :: r => next_rank (Cut.dst (at_link i)) r end.
Lemma last_rank_app a : forall u b, last_rank u (a ++ b) = last_rank (last_rank u a) b.
Proof. induction a as [|i a IH]; simpl; intros; auto. Qed.
Lemma last_rank_far r : forall u, is_rank j (far u r) = true -> last_rank u r = far u r.
Proof.
  intros u. destruct (rev r) as [|i l] eqn:E; apply (f_equal (@rev nat)) in E; rewrite rev_involutive in E; subst r; [reflexivity|].
  cbn [rev]. rewrite last_rank_app, far_app. simpl. intros ->. reflexivity.
Qed.
Lemma last_rank_over h1 i h2 : over_switches (h1 ++ i :: h2) -> forall u, last_rank u h1 = u.
Proof.
  induction h1 as [|a h1 IH]; simpl; intros H u; auto. destruct H as [[H|H] H']; [destruct h1; discriminate|]. rewrite H. apply (IH H').
Qed.
Lemma next_rank_over h2 rest : forall v, (h2 = [] \/ is_rank j v = false) -> over_switches h2 -> is_rank j (far v h2) = true ->
  next_rank v (h2 ++ rest) = far v h2.
Proof.
  induction h2 as [|a h2 IH]; intros v Hv Ho Hr.
  - simpl in *. destruct rest; simpl; rewrite Hr; reflexivity.
  - destruct Hv as [|Hv]; [discriminate|]. cbn [app next_rank far] in *. rewrite Hv. destruct Ho as [Ho Ho']. apply IH; auto.
Qed.

(** Where a flight is: its ends are ranks, and its link's, if that is at one. *)
Lemma flight_ends t f : In t sch -> In f (flights_of t) ->
  (hop_from f < nodes j)%nat /\ (hop_to f < nodes j)%nat /\ (fst (hop_use f) < length (links j))%nat /\
  (is_rank j (Cut.src (at_link (fst (hop_use f)))) = true -> hop_from f = Cut.src (at_link (fst (hop_use f)))) /\
  (is_rank j (Cut.dst (at_link (fst (hop_use f)))) = true -> hop_to f = Cut.dst (at_link (fst (hop_use f)))) /\
  beta (at_link (fst (hop_use f))) (size j (what (tr (data t)))) <= hop_slow f /\ 0 <= hop_slow f /\
  long (snd (hop_use f)) = hop_slow f + beside j (fst (hop_use f)) /\
  exists n, nth_error (route t) n = Some (fst (hop_use f)) /\ hop_from f = last_rank (src (tr (data t))) (firstn n (route t)) /\
    hop_to f = next_rank (Cut.dst (at_link (fst (hop_use f)))) (skipn (S n) (route t)).
Proof.
  intros Ht Hf. destruct (are_transfers _ _ _ _ good t Ht) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ _ _ good t Ht)) as Hl.
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
  assert (Ru' : is_rank j u = true) by (apply (ends_at_rank _ _ _ L1 Eu); intros h0 Hh0; apply Sh; rewrite A; apply in_or_app; auto).
  assert (Rz : is_rank j z = true) by (rewrite <- E2; apply Z').
  repeat split; auto.
  - rewrite B. apply Nat.ltb_lt, Ru'.
  - rewrite C. apply Nat.ltb_lt, Rz.
  - intros Hr. rewrite Hsrc in *. rewrite B. pose proof (starts_at_rank _ _ _ _ _ L5 O Hr). subst h1. exact L5.
  - intros Hr. destruct (over_app _ _ O) as [_ [[->|H] _]]; [|congruence]. rewrite C. simpl in L7. auto.
  - rewrite D. apply slowest_ge. apply in_or_app. right. left. auto.
  - rewrite D. apply slowest_0.
  - assert (R' : route t = (concat hs1 ++ h1) ++ i :: (h2 ++ concat hs2)) by (rewrite <- R, <- !app_assoc; reflexivity).
    exists (length (concat hs1 ++ h1)). rewrite R'. split; [|split].
    + rewrite nth_error_app2, Nat.sub_diag by apply Nat.le_refl. reflexivity.
    + rewrite firstn_app, Nat.sub_diag, firstn_all, app_nil_r, last_rank_app, (last_rank_over _ _ _ O), B, last_rank_far; rewrite E1; auto.
    + rewrite skipn_app, skipn_all2 by lia. replace (S (length (concat hs1 ++ h1)) - length (concat hs1 ++ h1))%nat with 1%nat by lia. cbn [app skipn].
      destruct (over_app _ _ O) as [_ [O1 O2]]. pose proof (leads_far _ _ _ L7) as E3. rewrite next_rank_over; rewrite ?E3; auto.
Qed.

Lemma entry_inside x : is_entry x -> 0 <= begin_of x /\ 0 <= length_of (flown x) <= long (busy x) /\
  begin_of x + length_of (flown x) <= makespan sch /\
  beta (at_link (of_link x)) (size j (of_chunk x)) + (if within then beside j (of_link x) else 0) <= length_of (flown x).
Proof.
  intros [Ht [Hf [Ho [L [P Q]]]]]. destruct (flight_ends _ _ Ht Hf) as [_ [_ [_ [_ [_ [R1 [R2 [R3 _]]]]]]]].
  destruct (are_inside j net sane occ sch good _ _ _ Ht Ho) as [I1 [_ I2]]. pose proof (ends_makespan sch _ Ht).
  assert (0 <= beside j (of_link x)) by (unfold beside; pose proof (sane_link j sane (of_link x)); destruct (model j); lia).
  assert (0 <= tail j (of_link x)) by (unfold tail; pose proof (onward_0 j sane (Cut.dst (at_link (of_link x)))); pose proof (sane_link j sane (of_link x)); destruct (model j); lia).
  pose proof (proj1 (proj1 (take_time _ _ _ _ good _ Ht))).
  unfold length_of, begin_of, of_chunk, of_link in *. destruct within; lia.
Qed.

(** By node, what is found and checked link by link: whether a switch that adds leads to it over
    switches alone; and whether it leads to one of the set that copies over switches of the set alone. *)
Variables summed parted : nat -> bool.
Definition sums_go_on (l : link) : bool :=
  is_rank j (Cut.src l) || (negb (adding net (Cut.src l)) || summed (Cut.src l)) &&
    (is_rank j (Cut.dst l) || negb (summed (Cut.src l)) || summed (Cut.dst l)).
Definition copies_go_back (l : link) : bool :=
  is_rank j (Cut.dst l) || negb (X (Cut.dst l)) || (negb (copying net (Cut.dst l)) || parted (Cut.dst l)) &&
    (is_rank j (Cut.src l) || negb (X (Cut.src l)) || negb (parted (Cut.dst l)) || parted (Cut.src l)).
Hypothesis summed_well : forall l, In l (links j) -> sums_go_on l = true.
Hypothesis parted_well : forall l, In l (links j) -> copies_go_back l = true.

(** Two ways that meet do so at a switch that adds, unless they come from one rank. *)
Lemma meeting_sums r : forall r' i u u' v, (i < length (links j))%nat ->
  leads j u (rev r) (Cut.src (at_link i)) -> leads j u' (rev r') (Cut.src (at_link i)) -> is_rank j u = true -> is_rank j u' = true ->
  meeting j (Cut.src (at_link i)) r r' = Some v -> adding net v = true ->
  last_rank u (rev r) = last_rank u' (rev r') \/ summed (Cut.src (at_link i)) = true.
Proof.
  induction r as [|a r IH]; intros r' i u u' v Hi Hl Hl' Hu Hu' M A;
    (destruct (is_rank j (Cut.src (at_link i))) eqn:Ei;
      [left; rewrite (last_rank_far (rev _) u), (last_rank_far (rev r') u'); rewrite ?(leads_far _ _ _ Hl), ?(leads_far _ _ _ Hl'); auto|]).
  - simpl in Hl. subst u. congruence.
  - destruct r' as [|a' r']; [simpl in Hl'; subst u'; congruence|]. cbn [meeting] in M.
    pose proof (summed_well (at_link i) (nth_In _ _ Hi)) as Wi.
    unfold sums_go_on in Wi. rewrite Ei in Wi. cbn [orb] in Wi. apply andb_true_iff in Wi. destruct Wi as [Wi _].
    destruct (Nat.eqb_spec a a') as [<-|_]; [|injection M as <-; right; rewrite A in Wi; exact Wi].
    cbn [rev] in *. destruct (leads_app _ _ _ _ Hl) as [w [L1 [Ha [Hs Hd]]]]. destruct (leads_app _ _ _ _ Hl') as [w' [L1' [_ [Hs' _]]]].
    simpl in Hd. subst w w'. rewrite !last_rank_app. cbn [last_rank]. rewrite Hd, Ei.
    destruct (IH r' a u u' v Ha L1 L1' Hu Hu' M A) as [E|E]; [left; exact E|].
    destruct (is_rank j (Cut.src (at_link a))) eqn:Ea.
    + left. rewrite (last_rank_far (rev r) u), (last_rank_far (rev r') u'); rewrite ?(leads_far _ _ _ L1), ?(leads_far _ _ _ L1'); auto.
    + right. pose proof (summed_well (at_link a) (nth_In _ _ Ha)) as Wa.
      unfold sums_go_on in Wa. rewrite Ea, Hd, Ei, E in Wa. simpl in Wa. apply andb_true_iff in Wa. apply Wa.
Qed.
(** Two ways that part do so at a switch that copies, unless they go to one rank. *)
Lemma parting_copies r : forall r' i d d' v, (i < length (links j))%nat -> X (Cut.dst (at_link i)) = true ->
  leads j (Cut.dst (at_link i)) r d -> leads j (Cut.dst (at_link i)) r' d' -> is_rank j d = true -> is_rank j d' = true ->
  (forall a, In a r -> inner (at_link a) = true) -> parting j (Cut.dst (at_link i)) r r' = Some v -> copying net v = true ->
  next_rank (Cut.dst (at_link i)) r = next_rank (Cut.dst (at_link i)) r' \/ parted (Cut.dst (at_link i)) = true.
Proof.
  induction r as [|a r IH]; intros r' i d d' v Hi Xi Hl Hl' Hd Hd' Hin P C;
    (destruct (is_rank j (Cut.dst (at_link i))) eqn:Ei; [left; destruct r'; simpl; rewrite Ei; reflexivity|]).
  - simpl in Hl. subst d. congruence.
  - destruct r' as [|a' r']; [simpl in Hl'; subst d'; congruence|]. cbn [parting] in P.
    pose proof (parted_well (at_link i) (nth_In _ _ Hi)) as Wi.
    unfold copies_go_back in Wi. rewrite Ei, Xi in Wi. cbn [orb negb] in Wi. apply andb_true_iff in Wi. destruct Wi as [Wi _].
    destruct (Nat.eqb_spec a a') as [<-|_]; [|injection P as <-; right; rewrite C in Wi; exact Wi].
    destruct Hl as [Ha [Hs Hl]]. destruct Hl' as [_ [_ Hl']]. cbn [next_rank]. rewrite Ei.
    pose proof (Hin a (or_introl eq_refl)) as Ia. unfold inner in Ia. apply andb_true_iff in Ia. destruct Ia as [_ Xa].
    destruct (IH r' a d d' v Ha Xa Hl Hl' Hd Hd' (fun b Hb => Hin b (or_intror Hb)) P C) as [E|E]; [left; exact E|].
    destruct (is_rank j (Cut.dst (at_link a))) eqn:Ea; [left; destruct r, r'; simpl; rewrite Ea; reflexivity|].
    right. pose proof (parted_well (at_link a) (nth_In _ _ Ha)) as Wa.
    unfold copies_go_back in Wa. rewrite Ea, Xa, Hs, Ei, Xi, E in Wa. simpl in Wa. apply andb_true_iff in Wa. apply Wa.
Qed.

(** What occupies one link at one instant is of one chunk, comes from one rank unless a switch
    that adds leads there, and goes to one rank unless it leads to a switch of the set that copies. *)
Definition goes_inside (x : entry) : Prop :=
  exists n, nth_error (route (of_sent x)) n = Some (of_link x) /\ forall i, In i (skipn (S n) (route (of_sent x))) -> inner (at_link i) = true.
Definition covers_instant (s : Z) (x : entry) : bool := (begin_of x <=? s) && (s <? begin_of x + length_of (flown x)).
Definition alone_before (i : nat) : bool := negb (summed (Cut.src (at_link i))).
Definition alone_behind (i : nat) : bool := negb (parted (Cut.dst (at_link i))).
Lemma at_one_instant x y s : is_entry x -> is_entry y -> of_link x = of_link y -> enters (at_link (of_link x)) = true ->
  goes_inside x -> covers_instant s x = true -> covers_instant s y = true ->
  of_chunk x = of_chunk y /\ (alone_before (of_link x) = true -> hop_from (flown x) = hop_from (flown y)) /\
  (alone_behind (of_link x) = true -> hop_to (flown x) = hop_to (flown y)).
Proof.
  intros Ex Ey El Hen Hgo Cx Cy. pose proof (entry_inside x Ex) as [_ [Lx _]]. pose proof (entry_inside y Ey) as [_ [Ly _]].
  pose proof Ex as [Tx [Fx [Ox _]]]. pose proof Ey as [Ty [Fy [Oy _]]].
  destruct (flight_ends _ _ Tx Fx) as [_ [_ [Hi [_ [_ [_ [_ [_ [n [Nx [Fromx Tox]]]]]]]]]]].
  destruct (flight_ends _ _ Ty Fy) as [_ [_ [_ [_ [_ [_ [_ [_ [m [My [Fromy Toy]]]]]]]]]]].
  destruct (have_routes _ _ _ _ good _ Tx) as [Wx Ux]. destruct (have_routes _ _ _ _ good _ Ty) as [Wy Uy].
  destruct (are_transfers _ _ _ _ good _ Tx) as [_ [Sx [Dx _]]]. destruct (are_transfers _ _ _ _ good _ Ty) as [_ [Sy [Dy _]]].
  apply Nat.ltb_lt in Sx, Dx, Sy, Dy.
  fold (of_link x) in *. fold (of_link y) in *. rewrite <- El in *.
  assert (D : of_sent x = of_sent y \/ of_sent x <> of_sent y).
  { assert (Q : forall a b : sent, {a = b} + {a <> b}) by (repeat decide equality). destruct (Q (of_sent x) (of_sent y)); auto. }
  unfold of_chunk. destruct D as [E|Ne].
  { rewrite <- E in *. pose proof (same_place _ _ _ _ Ux Nx My). subst m. repeat split; congruence. }
  destruct (are_apart _ _ _ _ good _ _ _ _ Tx Ty Ne Ox Oy eq_refl) as [A|[W [_ [Co Go]]]].
  { exfalso. unfold covers_instant in *. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in *. unfold apart, begin_of in *. cbn [snd] in A. lia. }
  cbn [fst] in Co, Go. split; [exact W|]. split.
  - intros Al. unfold alone_before in Al. apply negb_true_iff in Al. destruct Co as [[p [q [P [Q [Es F]]]]]|[p [q [v [P [Q [M A]]]]]]].
    2:{ rewrite (same_place _ _ _ _ Ux Nx P) in *. rewrite (same_place _ _ _ _ Uy My Q) in *. rewrite Fromx, Fromy.
      pose proof (proj1 (leads_at _ _ _ _ _ Wx P)) as Lx'. pose proof (proj1 (leads_at _ _ _ _ _ Wy Q)) as Ly'.
      rewrite <- (rev_involutive (firstn p _)) in Lx' |- *. rewrite <- (rev_involutive (firstn q _)) in Ly' |- *.
      destruct (meeting_sums _ _ _ _ _ _ Hi Lx' Ly' Sx Sy M A); congruence. }
    rewrite (same_place _ _ _ _ Ux Nx P) in *. rewrite (same_place _ _ _ _ Uy My Q) in *. rewrite Fromx, Fromy.
    assert (p = q).
    { apply (f_equal (@length nat)) in F. rewrite !firstn_length in F. pose proof (proj1 (nth_error_Some (route (of_sent x)) p) ltac:(congruence)).
      pose proof (proj1 (nth_error_Some (route (of_sent y)) q) ltac:(congruence)). lia. }
    subst q. apply (f_equal (firstn p)) in F. rewrite !firstn_firstn in F. replace (Nat.min p (S p)) with p in F by lia. rewrite Es, F. reflexivity.
  - intros Al. unfold alone_behind in Al. apply negb_true_iff in Al. destruct Go as [[p [q [P [Q F]]]]|[p [q [v [P [Q [Pv Cv]]]]]]].
    + rewrite (same_place _ _ _ _ Ux Nx P) in *. rewrite (same_place _ _ _ _ Uy My Q) in *. rewrite Tox, Toy.
      apply (f_equal (skipn 1)) in F. rewrite <- !one_more in F. rewrite F. reflexivity.
    + destruct Hgo as [n' [N' In']]. rewrite (same_place _ _ _ _ Ux N' P) in In'.
      rewrite (same_place _ _ _ _ Ux Nx P) in *. rewrite (same_place _ _ _ _ Uy My Q) in *. rewrite Tox, Toy.
      unfold enters in Hen. apply andb_true_iff in Hen.
      destruct (parting_copies _ _ _ _ _ _ Hi (proj2 Hen) (proj2 (leads_at _ _ _ _ _ Wx P)) (proj2 (leads_at _ _ _ _ _ Wy Q)) Dx Dy In' Pv Cv); congruence.
Qed.

(** ** The last entry of what comes *)

(** A hop begins no earlier than what it takes can have come to where it begins. *)
Lemma begins_after fl hd x : (forall l, In l (links j) -> rises_well j (arrival j) fl hd b l = true) -> is_entry x -> b <= size j (of_chunk x) ->
  potential fl (src (tr (data (of_sent x)))) <= begins (data (of_sent x)) ->
  Z.max (potential fl (hop_from (flown x))) (due (Cut.dst (at_link (of_link x)))) + potential (lead (hop_from (flown x))) (Cut.src (at_link (of_link x))) <= begin_of x.
Proof.
  intros Hw [Ht [Hf [_ [_ [Hle _]]]]] Hb Fu. eapply Z.le_trans; [|exact Hle]. unfold of_link, of_chunk in *. clear Hle.
  destruct x as [t f sp]. cbn [of_sent flown] in *.
  destruct (are_transfers _ _ _ _ good t Ht) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ _ _ good t Ht)) as Hl.
  pose proof (wait_for_ranks _ _ _ _ good t Ht) as Ha. pose proof (proj1 (take_time _ _ _ _ good t Ht)) as Hbg.
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
  pose proof (hops_shape (route t) (src (tr (data t))) (dst (tr (data t))) ltac:(rewrite <- R; exact Hl) Ev) as Sh.
  assert (Ru' : is_rank j u = true) by (apply (ends_at_rank _ _ _ L1 Eu); intros h0 Hh0; apply Sh; rewrite A; apply in_or_app; auto).
  assert (Lu : (u < nodes j)%nat) by (apply Nat.ltb_lt, Ru').
  assert (P := route_time (arrival j) (fun _ => true) fl hd (size j k) (concat hs1) _ u (begins (data t)) Hb
    (fun l H' _ => Hw l H') L1 (fun _ _ => eq_refl) Eu Ru' Fu Vis).
  rewrite Q in P.
  assert (O : over_switches (h1 ++ i :: h2)) by (apply Sh; rewrite A; apply in_or_app; right; left; auto).
  assert (Pl : potential (lead u) x <= 0 + latencies j h1).
  { apply (lead_way (fun _ => true) u (lead u) h1 u); auto.
    - pose proof (lead_well u Lu) as W. unfold lead_ok in W. apply andb_true_iff in W. destruct W as [W _]. apply Z.leb_le, W.
    - apply (over_app _ _ O). }
  rewrite B, E. fold i. rewrite Hsrc. fold k.
  assert (due (Cut.dst (at_link i)) <= begins (data t)).
  { unfold due. destruct (is_rank j (Cut.dst (at_link i))) eqn:Er; [|lia]. apply Ha; auto. rewrite <- R. unfold visited.
    right. rewrite !map_app. apply in_or_app. right. apply in_or_app. left. apply in_or_app. right. left. auto. }
  pose proof (lasting_0 j sane (size j k) hs1). fold k in P. lia.
Qed.
(** What is left of a transfer after it has occupied a link. *)
Lemma ends_after onward x : is_entry x -> lead_ok (fun _ => true) (Cut.dst (at_link (of_link x))) onward = true ->
  begin_of x + hop_slow (flown x) + latency (at_link (of_link x)) + potential onward (hop_to (flown x)) <= ends (data (of_sent x)).
Proof.
  intros [Ht [Hf [_ [_ [_ Sp]]]]] Hon. unfold of_link, begin_of in *. destruct x as [t f sp]. cbn [of_sent flown busy] in *.
  destruct (are_transfers _ _ _ _ good t Ht) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ _ _ good t Ht)) as Hl.
  assert (Ev : is_rank j (dst (tr (data t))) = true) by (apply Nat.ltb_lt, Rv).
  destruct (flight_split _ _ _ _ _ Hf) as [hs1 [h1 [h2 [hs2 [A [B [C [D [E F]]]]]]]]].
  set (i := fst (hop_use f)) in *. set (k := what (tr (data t))) in *.
  destruct (hops_shape _ _ _ Hl Ev (h1 ++ i :: h2)) as [_ [O _]]; [rewrite A; apply in_or_app; right; left; auto|].
  pose proof (concat_hops j (route t)) as R. rewrite A, concat_app in R. simpl in R. rewrite <- R in Hl.
  destruct (leads_app _ _ _ _ Hl) as [u [L1 L2]]. destruct (leads_app _ _ _ _ L2) as [z [L3 L4]]. destruct (leads_app _ _ _ _ L3) as [y [L5 [Hi [Hsrc L7]]]].
  rewrite (leads_far _ _ _ L1) in B. rewrite B, (leads_far _ _ _ L3) in C. rewrite C.
  destruct (over_app _ _ O) as [_ [O1 O2]].
  assert (P : potential onward z <= 0 + latencies j h2).
  { apply (lead_way (fun _ => true) (Cut.dst (at_link i)) _ h2 (Cut.dst (at_link i))); auto.
    unfold lead_ok in Hon. apply andb_true_iff in Hon. destruct Hon as [W _]. apply Z.leb_le, W. }
  pose proof (lasting_0 j sane (size j k) hs2). unfold spare in Sp. unfold duration in Sp. fold k in Sp. fold (lasting j (size j k) (hops j (route t))) in Sp.
  rewrite A in Sp. unfold lasting in Sp. rewrite sum_app in Sp. cbn [sum fold_right] in Sp. fold (lasting j (size j k) hs1) in Sp.
  change (fold_right (fun x s => latencies j x + slowest j (size j k) x + s) 0 hs2) with (lasting j (size j k) hs2) in Sp.
  assert (latencies j (h1 ++ i :: h2) = latencies j h1 + latency (at_link i) + latencies j h2).
  { unfold latencies. rewrite sum_app. simpl. unfold sum. lia. }
  rewrite E in Sp. rewrite D. fold (lasting j (size j k) hs1) in Sp. fold k. lia.
Qed.
(** What is carried was where its hop begins in time. *)
Lemma carried w x : spreads_well w -> is_entry x -> b <= size j (of_chunk x) ->
  (forall u y, In ((u, of_chunk x), y) (pre j) -> contains y w -> potential (full w) u <= arrival j u) ->
  holds j ts w (src (tr (data (of_sent x)))) (of_chunk x) (begins (data (of_sent x))) ->
  early (of_link x) (hop_from (flown x)) w <= begin_of x.
Proof.
  intros Hw He Hb Hs Hh. apply (begins_after (full w) (head w)); auto. pose proof (proj1 He) as Ht.
  pose proof (loose_rises j net sane occ sch good (full w) (head w) (of_chunk x) w _ eq_refl
      (fun l H' => rises_more j _ _ _ b _ l (proj2 (proj1 sane l H')) Hb (Hw l H')) Hs _ _ Hh) as P.
  destruct (are_transfers _ _ _ _ good _ Ht) as [_ [Ru _]]. apply Nat.ltb_lt in Ru.
  pose proof (wait_for_ranks _ _ _ _ good _ Ht _ (or_introl eq_refl) Ru). lia.
Qed.

(** Where something comes to a rank of the set that was outside at first, it enters last by
    some flight, from which the rest of its way stays inside. *)
Lemma enters_last c k : (forall u x, In ((u, k), x) (pre j) -> contains x c -> X u = false) -> b <= size j k ->
  forall v x, holds j ts c v k x -> X v = true ->
  exists e, is_entry e /\ of_chunk e = k /\ enters (at_link (of_link e)) = true /\ goes_inside e /\
    holds j ts c (src (tr (data (of_sent e)))) k (begins (data (of_sent e))) /\ X (hop_to (flown e)) = true /\
    begin_of e + length_of (flown e) + late (of_link e) (hop_to (flown e)) v <= x.
Proof.
  intros Hs Hb v x H. remember k as k' eqn:Ek in H. induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx]; intros Hv.
  - subst k'. apply lookup_In in Hl. rewrite (Hs _ _ Hl Hc) in Hv. discriminate.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]].
    destruct (are_transfers _ _ _ _ good s Hin) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ _ _ good s Hin)) as Hl.
    pose proof (take_time _ _ _ _ good s Hin) as [Hbg He].
    assert (Eu : is_rank j (src (tr (data s))) = true) by (apply Nat.ltb_lt, Ru).
    assert (Ev : is_rank j (dst (tr (data s))) = true) by (apply Nat.ltb_lt, Rv).
    rewrite Ek in *.
    destruct (last_crossing _ _ _ Hl Hv) as [[Hu Hin']|[r1 [i [r2 [R [Hen Hin']]]]]].
    + destruct (IH eq_refl Hu) as [e [A [B [C [D [E [F G]]]]]]]. exists e. split; [exact A|]. split; [exact B|]. split; [exact C|]. split; [exact D|]. split; [exact E|]. split; [exact F|].
      set (z := hop_to (flown e)) in *. set (i := of_link e) in *.
      destruct (flight_ends _ _ (proj1 A) (proj1 (proj2 A))) as [_ [Hz _]]. fold z in Hz. destruct (onto_well z Hz F) as [_ O].
      unfold late in *. unfold duration in He. fold (lasting j (size j k) (hops j (route s))) in He.
      set (at_z := begin_of e + length_of (flown e) + (rest i + potential (beyond (Cut.dst (at_link i))) z)).
      assert (P := route_time (fun _ => 0) inner (onto z) (onto_head z) (size j k) (route s) _ _ (begins (data s) - at_z)
        Hb O Hl Hin' Eu Ev ltac:(unfold at_z; lia) ltac:(intros; unfold at_z; lia)).
      pose proof (lasting_0 j sane (size j k) (hops j (route s))). unfold at_z in P. lia.
    + assert (Q : concat (hops j (route s)) = r1 ++ i :: r2) by (rewrite concat_hops; exact R). destruct (concat_split _ _ _ _ Q) as [hs1 [h1 [h2 [hs2 [A [B C]]]]]].
      destruct (flight_there (size j k) hs1 h1 i h2 hs2 (begins (data s)) (src (tr (data s)))) as [f [F1 [F2 [F3 [F4 F5]]]]].
      rewrite <- A in F1.
      assert (Hf : In f (flights_of s)) by (unfold flights_of; rewrite Ek; exact F1).
      destruct (flight_occupies s f Hin Hf) as [sp He']. exists (Entry s f sp).
      unfold goes_inside, of_link, of_chunk. cbn [of_sent flown]. rewrite F2.
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
      rewrite F3. split; [exact He'|]. split; [exact Ek|]. split; [exact Hen|]. split; [|split; [exact Hh|split; [exact Xz|]]].
      { exists (length r1). rewrite R. split; [rewrite nth_error_app2, Nat.sub_diag by apply Nat.le_refl; reflexivity|].
        rewrite skipn_app, skipn_all2 by lia. replace (S (length r1) - length r1)%nat with 1%nat by lia. exact Hin'. }
      destruct (over_app _ _ Ov) as [_ [Ov1 Ov2]].
      assert (P1 : potential (beyond (Cut.dst (at_link i))) z <= 0 + latencies j h2).
      { pose proof (beyond_well _ Hi Hen) as W. apply (lead_way inner (Cut.dst (at_link i)) _ h2 (Cut.dst (at_link i))); auto.
        unfold lead_ok in W. apply andb_true_iff in W. destruct W as [W _]. apply Z.leb_le, W. }
      destruct (onto_well z Lz Xz) as [O1 O].
      assert (P2 := route_time (fun _ => 0) inner (onto z) (onto_head z) (size j k) (concat hs2) _ _ 0
        Hb O L4 In3 Rz Ev O1 ltac:(intros; lia)).
      assert (A' : hops j (route s) = (hs1 ++ [h1 ++ i :: h2]) ++ hs2) by (rewrite <- app_assoc; exact A).
      destruct (hops_cut _ _ _ A') as [_ H2]. rewrite H2 in P2.
      pose proof (lasting_0 j sane (size j k) hs2).
      destruct He' as [_ [_ [_ [_ [_ Sp]]]]]. unfold spare, begin_of in *. cbn [of_sent flown busy] in *.
      unfold duration in Sp. fold (lasting j (size j k) (hops j (route s))) in Sp. rewrite Ek in Sp. rewrite A in Sp. unfold lasting in Sp.
      rewrite sum_app in Sp. cbn [sum fold_right] in Sp. fold (lasting j (size j k) hs1) in Sp.
      change (fold_right (fun x s => latencies j x + slowest j (size j k) x + s) 0 hs2) with (lasting j (size j k) hs2) in Sp.
      assert (latencies j (h1 ++ i :: h2) = latencies j h1 + latency (at_link i) + latencies j h2).
      { unfold latencies. rewrite sum_app. simpl. unfold sum. lia. }
      rewrite F5 in Sp. unfold length_of, late, rest. rewrite F4, F2. fold (lasting j (size j k) hs1) in Sp. lia.
Qed.

(** ** All pairs *)

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
(** Where a hop over a link into the set can begin, and end. *)
Definition begins_at (i u : nat) : Prop := (u < nodes j)%nat /\ (is_rank j (Cut.src (at_link i)) = true -> u = Cut.src (at_link i)).
Definition ends_at (i z : nat) : Prop := (z < nodes j)%nat /\ X z = true /\ (is_rank j (Cut.dst (at_link i)) = true -> z = Cut.dst (at_link i)).
Hypothesis heads : forall i k t (from : nat -> nat), (i < length (links j))%nat -> enters (at_link i) = true ->
  (forall w, begins_at i (from w)) -> (alone_before i = true -> forall w w', from w = from w') ->
  over (map (fun w => early i (from w) w) (S k)) t <= over (G i) t.
Hypothesis tails : forall i k t (to : nat -> nat), (i < length (links j))%nat -> enters (at_link i) = true ->
  (forall v, ends_at i (to v)) -> (alone_behind i = true -> forall v v', to v = to v') ->
  over (map (fun v => late i (to v) v) (D k)) t <= over (H i) t.
Hypothesis weighs : forall k, 0 <= weight k /\ forall i, (i < length (links j))%nat -> enters (at_link i) = true ->
  weight k <= bandwidth (at_link i) * (beta (at_link i) (size j k) + if within then beside j i else 0).

(** A chunk, a contribution and who needs it; and the entry that serves the two. *)
Notation pair_of := (nat * (nat * nat))%type.
Definition all_pairs : list pair_of := flat_map (fun k => map (pair k) (list_prod (S k) (D k))) (seq 0 (length (sizes j))).
Definition serves (p : pair_of) (x : entry) : Prop :=
  is_entry x /\ of_chunk x = fst p /\ enters (at_link (of_link x)) = true /\ goes_inside x /\
  In (fst (snd p)) (S (fst p)) /\ In (snd (snd p)) (D (fst p)) /\
  begins_at (of_link x) (hop_from (flown x)) /\ ends_at (of_link x) (hop_to (flown x)) /\
  early (of_link x) (hop_from (flown x)) (fst (snd p)) <= begin_of x /\
  late (of_link x) (hop_to (flown x)) (snd (snd p)) <= T - (begin_of x + length_of (flown x)).

Lemma served k w v : In w (S k) -> In v (D k) -> exists x, serves (k, (w, v)) x.
Proof.
  intros Hw Hv. destruct (sources k w Hw) as [Sw So]. destruct (dests k v w Hw Hv) as [Sb [Xv [y [Hy Hc]]]].
  destruct (enters_last w k (fun u x A B => proj1 (So u x A B)) Sb v (makespan sch)
    (bring _ _ _ _ good v k y w Hy Hc) Xv) as [x [A [B [C [F [Q [R U]]]]]]].
  exists x. unfold serves. cbn [fst snd]. split; [exact A|]. split; [exact B|]. split; [exact C|]. split; [exact F|].
  split; [exact Hw|]. split; [exact Hv|]. destruct A as [A1 [A2 A3]].
  destruct (flight_ends _ _ A1 A2) as [R1 [R2 [R3 [R4 [R5 _]]]]].
  split; [split; auto|]. split; [split; auto|]. split; [|lia].
  apply (carried w x); auto; [split; auto|rewrite B; auto|rewrite B|rewrite B; exact Q]. intros u z H1 H2. apply (So u z); auto.
Qed.
Lemma all_pairs_once : NoDup all_pairs.
Proof.
  apply once_flat_map; [apply seq_NoDup| |].
  - intros k _. apply Injective_map_NoDup; [intros p q [=]; auto|]. apply once_prod; apply once.
  - intros k k' e He He'. apply in_map_iff in He, He'. destruct He as [p [<- _]], He' as [q [E _]]. congruence.
Qed.

(** At one instant a link serves no more pairs than those that can have come, with those that can still be served. *)
Section Instant.
Variable ps : list (pair_of * entry).
Hypothesis ps_once : NoDup (map fst ps).
Hypothesis ps_serve : forall p, In p ps -> serves (fst p) (snd p).
Variable i : nat.
Variable s : Z.
Hypothesis now : forall p, In p ps -> of_link (snd p) = i /\ covers_instant s (snd p) = true.

Lemma served_now : Z.of_nat (length ps) <= over (G i) s * over (H i) (T - 1 - s).
Proof.
  destruct ps as [|p0 rest] eqn:Eps.
  { cbn [length]. apply Z.mul_nonneg_nonneg; apply over_0. }
  rewrite <- Eps in *. assert (H0 : In p0 ps) by (rewrite Eps; left; auto).
  destruct (ps_serve p0 H0) as [E0 [K0 [En0 [Go0 [_ [_ [B0 [Z0 _]]]]]]]]. destruct (now p0 H0) as [L0 C0].
  set (k := of_chunk (snd p0)) in *.
  set (from := fun w => match find (fun p => (fst (snd (fst p)) =? w)%nat) ps with Some p => hop_from (flown (snd p)) | None => hop_from (flown (snd p0)) end).
  set (to := fun v => match find (fun p => (snd (snd (fst p)) =? v)%nat) ps with Some p => hop_to (flown (snd p)) | None => hop_to (flown (snd p0)) end).
  assert (Same : forall p, In p ps -> of_chunk (snd p) = k /\ (alone_before i = true -> hop_from (flown (snd p)) = hop_from (flown (snd p0))) /\
      (alone_behind i = true -> hop_to (flown (snd p)) = hop_to (flown (snd p0)))).
  { intros p Hp. destruct (ps_serve p Hp) as [E [_ [En [Go _]]]]. destruct (now p Hp) as [L C].
    destruct (at_one_instant (snd p) (snd p0) s E E0 ltac:(congruence) En Go C C0) as [A1 [A2 A3]]. rewrite L in A2, A3. auto. }
  assert (Hi : (i < length (links j))%nat).
  { destruct E0 as [T0 [F0 _]]. destruct (flight_ends _ _ T0 F0) as [_ [_ [R _]]]. unfold of_link in L0. congruence. }
  assert (Hen : enters (at_link i) = true) by congruence.
  assert (PosG : over (map (fun w => early i (from w) w) (S k)) s <= over (G i) s).
  { apply heads; auto.
    - intros w. unfold from. match goal with |- context [find ?f ps] => destruct (find f ps) as [p|] eqn:Fd end; [|rewrite <- L0; exact B0]. apply find_some in Fd. destruct Fd as [Hp _].
      destruct (ps_serve p Hp) as [_ [_ [_ [_ [_ [_ [B _]]]]]]]. rewrite <- (proj1 (now p Hp)). exact B.
    - intros Al. assert (Q : forall w, from w = hop_from (flown (snd p0))).
      { intros w. unfold from. match goal with |- context [find ?f ps] => destruct (find f ps) as [p|] eqn:Fd end; [|reflexivity]. apply find_some in Fd. apply (Same p (proj1 Fd)), Al. }
      intros w w'. rewrite !Q. reflexivity. }
  assert (PosH : over (map (fun v => late i (to v) v) (D k)) (T - 1 - s) <= over (H i) (T - 1 - s)).
  { apply tails; auto.
    - intros v. unfold to. match goal with |- context [find ?f ps] => destruct (find f ps) as [p|] eqn:Fd end; [|rewrite <- L0; exact Z0]. apply find_some in Fd. destruct Fd as [Hp _].
      destruct (ps_serve p Hp) as [_ [_ [_ [_ [_ [_ [_ [Zp _]]]]]]]]. rewrite <- (proj1 (now p Hp)). exact Zp.
    - intros Al. assert (Q : forall v, to v = hop_to (flown (snd p0))).
      { intros v. unfold to. match goal with |- context [find ?f ps] => destruct (find f ps) as [p|] eqn:Fd end; [|reflexivity]. apply find_some in Fd. apply (Same p (proj1 Fd)), Al. }
      intros v v'. rewrite !Q. reflexivity. }
  rewrite over_map in PosG, PosH.
  set (ws := filter (fun w => early i (from w) w <=? s) (S k)) in *. set (vs := filter (fun v => late i (to v) v <=? T - 1 - s) (D k)) in *.
  enough (E : (length ps <= length ws * length vs)%nat).
  { apply Z.le_trans with (Z.of_nat (length ws) * Z.of_nat (length vs)); [lia|]. apply Z.mul_le_mono_nonneg; lia. }
  rewrite <- prod_length, <- (map_length (fun p : pair_of * entry => snd (fst p))). apply NoDup_incl_length.
  - assert (Ek : map fst ps = map (pair k) (map (fun p : pair_of * entry => snd (fst p)) ps)).
    { rewrite map_map. apply map_ext_in. intros p Hp. destruct (ps_serve p Hp) as [_ [K _]]. rewrite <- (proj1 (Same p Hp)), K. destruct (fst p). reflexivity. }
    rewrite Ek in ps_once. apply NoDup_map_inv in ps_once. exact ps_once.
  - intros [w v] Hin. apply in_map_iff in Hin. destruct Hin as [p [Ep Hp]].
    destruct (ps_serve p Hp) as [_ [Kp [_ [_ [Hw [Hv _]]]]]]. rewrite <- Kp, (proj1 (Same p Hp)), Ep in Hw, Hv. cbn [fst snd] in Hw, Hv.
    apply in_prod_iff. unfold ws, vs. rewrite !filter_In, !Z.leb_le. split; split; auto.
    + unfold from. match goal with |- context [find ?f ps] => destruct (find f ps) as [q|] eqn:Fd end.
      * apply find_some in Fd. destruct Fd as [Hq Eq]. apply Nat.eqb_eq in Eq. destruct (ps_serve q Hq) as [_ [_ [_ [_ [_ [_ [_ [_ [A _]]]]]]]]].
        destruct (now q Hq) as [Lq Cq]. unfold covers_instant in Cq. rewrite andb_true_iff, Z.leb_le in Cq. rewrite Lq, Eq in A. lia.
      * exfalso. apply (find_none _ _ Fd) in Hp. rewrite Ep in Hp. cbn [fst] in Hp. rewrite Nat.eqb_refl in Hp. discriminate.
    + unfold to. match goal with |- context [find ?f ps] => destruct (find f ps) as [q|] eqn:Fd end.
      * apply find_some in Fd. destruct Fd as [Hq Eq]. apply Nat.eqb_eq in Eq. destruct (ps_serve q Hq) as [_ [_ [_ [_ [_ [_ [_ [_ [_ A]]]]]]]]].
        destruct (now q Hq) as [Lq Cq]. unfold covers_instant in Cq. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in Cq. rewrite Lq, Eq in A. lia.
      * exfalso. apply (find_none _ _ Fd) in Hp. rewrite Ep in Hp. cbn [snd] in Hp. rewrite Nat.eqb_refl in Hp. discriminate.
Qed.
End Instant.

Definition room (i : nat) : Z := sum (fun g => sum (fun h => Z.max 0 (T - g - h)) (H i)) (G i).
Lemma room_at_instants i n : sum (fun s => over (G i) s * over (H i) (T - 1 - s)) (instants n) <= room i.
Proof.
  rewrite (sum_eq _ (fun s => sum (fun g => sum (fun h => if (g <=? s) && (s <? T - h) then 1 else 0) (H i)) (G i))).
  - rewrite sum_swap. unfold room. apply sum_le. intros g _. rewrite sum_swap. apply sum_le. intros h _. rewrite instants_between. lia.
  - intros s _. unfold over. rewrite product_of_sums. apply sum_eq. intros g _. apply sum_eq. intros h _.
    destruct (Z.leb_spec g s), (Z.leb_spec h (T - 1 - s)), (Z.ltb_spec s (T - h)); cbn [andb]; lia.
Qed.
Lemma link_room i ps : NoDup (map fst ps) -> (forall p, In p ps -> serves (fst p) (snd p) /\ of_link (snd p) = i) ->
  sum (fun p => length_of (flown (snd p))) ps <= room i.
Proof.
  intros Hn Hs. set (n := Z.to_nat T). eapply Z.le_trans; [|apply (room_at_instants i n)].
  rewrite (sum_eq _ (fun p => sum (fun s => if covers_instant s (snd p) then 1 else 0) (instants n))).
  - rewrite sum_swap. apply sum_le. intros s _. rewrite <- (sum_filter (fun _ => 1) (fun p => covers_instant s (snd p))), sum_one.
    apply served_now; [apply once_kept, Hn| |]; intros p Hp; apply filter_In in Hp; destruct (Hs p (proj1 Hp)); tauto.
  - intros p Hp. destruct (Hs p Hp) as [[E _] _]. destruct (entry_inside _ E) as [A [B [C _]]].
    unfold covers_instant. rewrite instants_between. unfold n. rewrite Z2Nat.id; lia.
Qed.

Theorem covered : sum (fun k => weight k * (Z.of_nat (length (S k)) * Z.of_nat (length (D k)))) (seq 0 (length (sizes j))) <=
  sum (fun i => bandwidth (at_link i) * room i) (some_links j enters).
Proof.
  destruct (each_has_one serves all_pairs) as [ps [E Q]].
  { intros [k [w v]] Hin. apply in_flat_map in Hin. destruct Hin as [k' [_ Hin]]. apply in_map_iff in Hin.
    destruct Hin as [p [[= -> ->] Hin]]. apply in_prod_iff in Hin. apply served; apply Hin. }
  assert (N : NoDup (map fst ps)) by (rewrite E; apply all_pairs_once).
  assert (Link : forall p, In p ps -> In (of_link (snd p)) (some_links j enters)).
  { intros p Hp. destruct (Q p Hp) as [[T0 [F0 _]] [_ [En _]]]. destruct (flight_ends _ _ T0 F0) as [_ [_ [R _]]]. apply in_some_links; auto. }
  apply Z.le_trans with (sum (fun p => weight (fst (fst p))) ps).
  { rewrite <- (sum_map fst (fun e : pair_of => weight (fst e))), E. unfold all_pairs. rewrite sum_flat_map. apply Z.eq_le_incl, sum_eq.
    intros k _. rewrite sum_map. cbn [fst]. rewrite (sum_eq _ (fun _ => weight k * 1)) by (intros; lia).
    rewrite sum_mul, sum_one, prod_length. lia. }
  apply Z.le_trans with (sum (fun p => bandwidth (at_link (of_link (snd p))) * length_of (flown (snd p))) ps).
  { apply sum_le. intros p Hp. destruct (Q p Hp) as [En [Ek [Ent _]]]. destruct (entry_inside _ En) as [_ [_ [_ L]]].
    pose proof (Link p Hp) as Hl. unfold some_links in Hl. rewrite filter_In, in_seq in Hl. rewrite Ek in L.
    pose proof (proj2 (weighs (fst (fst p))) (of_link (snd p)) ltac:(lia) Ent). pose proof (proj2 (sane_link j sane (of_link (snd p)))). nia. }
  rewrite (sum_by (fun p : pair_of * entry => of_link (snd p)) _ (some_links j enters) ps (some_links_once j enters) Link).
  apply sum_le. intros i _. set (on := filter _ ps).
  assert (On : forall p, In p on -> serves (fst p) (snd p) /\ of_link (snd p) = i).
  { intros p Hp. apply filter_In in Hp. destruct Hp as [Hp Ei]. apply Nat.eqb_eq in Ei. auto. }
  rewrite (sum_eq _ (fun p => bandwidth (at_link i) * length_of (flown (snd p)))) by (intros p Hp; rewrite (proj2 (On p Hp)); reflexivity).
  rewrite sum_mul. apply Z.mul_le_mono_nonneg_l; [pose proof (sane_link j sane i); lia|]. apply link_room; auto. apply once_kept, N.
Qed.

(** ** How many *)

(** No flight into the set by a link begins before [E], and what it brings takes [L] after it. *)
Variables E L : nat -> Z.
Hypothesis begins_late : forall i u k w, (i < length (links j))%nat -> enters (at_link i) = true -> begins_at i u -> In w (S k) -> E i <= early i u w.
Hypothesis ends_early : forall i z k v, (i < length (links j))%nat -> enters (at_link i) = true -> ends_at i z -> In v (D k) -> L i <= late i z v.
Definition span_of (i : nat) : Z := beta (at_link i) b + if within then beside j i else 0.
Hypothesis spans_take : forall i, (i < length (links j))%nat -> enters (at_link i) = true -> 0 < span_of i.
Variable ks : list nat.
Hypothesis ks_once : NoDup ks.
Hypothesis ks_paired : forall k, In k ks -> S k <> [] /\ D k <> [].

(** Different chunks are on a link at different times. *)
Lemma link_counts i (ps : list (nat * entry)) : (i < length (links j))%nat -> enters (at_link i) = true -> NoDup (map fst ps) ->
  (forall p, In p ps -> of_link (snd p) = i /\ exists w v, serves (fst p, (w, v)) (snd p)) ->
  Z.of_nat (length ps) <= Z.max 0 (T - L i - E i) / span_of i.
Proof.
  intros Hi Hen N Q. pose proof (spans_take i Hi Hen) as Sp. apply Z.div_le_lower_bound; auto.
  assert (In_ps : forall p, In p ps -> is_entry (snd p) /\ of_link (snd p) = i /\ of_chunk (snd p) = fst p /\
     E i <= begin_of (snd p) /\ begin_of (snd p) + length_of (flown (snd p)) <= T - L i /\ span_of i <= length_of (flown (snd p))).
  { intros p Hp. destruct (Q p Hp) as [El [w [v [En [Ek [_ [_ [Hw [Hv [Hb [Hz [Ea La]]]]]]]]]]]]. cbn [fst snd] in *. rewrite El in *.
    pose proof (begins_late i _ _ _ Hi Hen Hb Hw). pose proof (ends_early i _ _ _ Hi Hen Hz Hv).
    destruct (entry_inside _ En) as [_ [_ [_ Le]]]. rewrite El, Ek in Le. destruct (dests _ _ _ Hw Hv) as [Sb _].
    pose proof (beta_mono (at_link i) _ _ (proj2 (sane_link j sane i)) Sb). unfold span_of. repeat split; auto; try apply En; lia. }
  apply Z.le_trans with (sum (fun p => length_of (flown (snd p))) ps).
  { rewrite <- sum_one, <- sum_mul. apply sum_le. intros p Hp. destruct (In_ps p Hp) as [_ [_ [_ [_ [_ Le]]]]]. lia. }
  destruct ps as [|q rest] eqn:Eq; [simpl; lia|]. rewrite <- Eq in *.
  assert (Hq : In q ps) by (rewrite Eq; left; auto). destruct (In_ps q Hq) as [_ [_ [_ [Q2 [Q3 Q4]]]]].
  enough (sum (fun p => length_of (flown (snd p))) ps <= (T - L i) - E i) by lia.
  set (window := fun p : nat * entry => Span (begin_of (snd p)) (length_of (flown (snd p)))).
  replace (sum _ ps) with (sum long (map window ps)) by (rewrite sum_map; reflexivity).
  apply (spans_fit (length (map window ps))); auto; [lia| |].
  - intros a Ha. apply in_map_iff in Ha. destruct Ha as [p [<- Hp]]. destruct (In_ps p Hp) as [_ [_ [_ [P2 [P3 P4]]]]]. simpl. lia.
  - clear Eq Hq Q2 Q3 Q4. induction ps as [|p l IH]; simpl; [constructor|]. cbn [map] in N. inversion N as [|? ? Hn N']; subst. constructor.
    + rewrite Forall_forall. intros a Ha. apply in_map_iff in Ha. destruct Ha as [p' [<- Hp']].
      destruct (In_ps p (or_introl eq_refl)) as [E1 [L1 [K1 _]]]. destruct (In_ps p' (or_intror Hp')) as [E2 [L2 [K2 _]]].
      pose proof (entry_inside _ E1) as [_ [B1 _]]. pose proof (entry_inside _ E2) as [_ [B2 _]].
      assert (Ne : of_sent (snd p) <> of_sent (snd p')).
      { intros Es. apply Hn. replace (fst p) with (fst p'); [apply in_map, Hp'|]. rewrite <- K1, <- K2. unfold of_chunk. congruence. }
      pose proof E1 as [T1 [_ [O1 _]]]. pose proof E2 as [T2 [_ [O2 _]]].
      destruct (are_apart _ _ _ _ good _ _ _ _ T1 T2 Ne O1 O2) as [A|[W _]]; [cbn [fst]; congruence| |].
      * unfold apart, window, begin_of in *. cbn [first long snd] in *. lia.
      * exfalso. apply Hn. replace (fst p) with (fst p'); [apply in_map, Hp'|]. rewrite <- K1, <- K2. unfold of_chunk. congruence.
    + apply IH; auto; intros x Hx; [apply Q|apply In_ps]; right; auto.
Qed.

Theorem counted : Z.of_nat (length ks) <= sum (fun i => Z.max 0 (T - L i - E i) / span_of i) (some_links j enters).
Proof.
  destruct (each_has_one (fun k x => exists w v, serves (k, (w, v)) x) ks) as [ps [Eps Q]].
  { intros k Hk. destruct (ks_paired k Hk) as [HS HD]. destruct (S k) as [|w Sk] eqn:ES; [congruence|]. destruct (D k) as [|v Dk] eqn:ED; [congruence|].
    destruct (served k w v) as [x Hx]; [rewrite ES; left; auto|rewrite ED; left; auto|]. exists x, w, v. exact Hx. }
  rewrite <- Eps, map_length, <- sum_one.
  rewrite (sum_by (fun p : nat * entry => of_link (snd p)) _ (some_links j enters)).
  - apply sum_le. intros i Hi. unfold some_links in Hi. rewrite filter_In, in_seq in Hi. rewrite sum_one. apply link_counts; [lia|apply Hi| |].
    + apply once_kept. rewrite Eps. exact ks_once.
    + intros p Hp. apply filter_In in Hp. destruct Hp as [Hp Ei]. apply Nat.eqb_eq in Ei. split; auto.
  - apply some_links_once.
  - intros p Hp. destruct (Q p Hp) as [w [v [[T0 [F0 _]] [_ [En _]]]]]. destruct (flight_ends _ _ T0 F0) as [_ [_ [R _]]]. apply in_some_links; auto.
Qed.
End Cover.
End Job.
